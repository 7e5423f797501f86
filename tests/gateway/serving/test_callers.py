"""The commands that list and change keys, teams and budgets."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gateway import serving
from tests.gateway.serving.test_cli import GOOD, lockgate


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "a secret of some length")
    monkeypatch.chdir(tmp_path)


def done(*arguments: str) -> list[str]:
    code, out, err = lockgate(*arguments)
    assert code == 0, err
    return out


def failed(*arguments: str) -> list[str]:
    code, out, err = lockgate(*arguments)
    assert (code, out) == (2, [])
    return err


def test_a_key_is_made_shown_changed_and_revoked() -> None:
    done("team", "create", "research", "budget=50/month/Europe/Berlin")
    (text,) = done(
        "key", "create", "app", "team=research", "models=sim-small,sim-large", "rpm=300",
        "max_calls=5", "budget=5/day", "budget=20/week",
    )  # fmt: skip
    shown = json.loads("\n".join(done("key", "show", "app")))
    done("key", "set", "app", "rpm=none", "max_cost_usd=0.5")
    changed = json.loads("\n".join(done("key", "list", "--json")))["keys"][0]
    (new,) = done("key", "rotate", "app")
    done("key", "revoke", "app")
    table = done("key", "list")

    assert (shown["team"], shown["rpm"], shown["models"]) == (
        "research",
        300,
        ["sim-small", "sim-large"],
    )
    assert changed["caps"] == {"max_calls": 5, "max_cost_usd": "0.5", "deadline_ms": None}
    assert (changed["rpm"], changed["prefix"]) == (None, text[:9])
    assert new != text
    assert table[1].split()[:3] == ["app", new[:9], "database"]
    assert table[1].endswith("revoked")
    assert text not in "".join([*table, *map(str, (shown, changed))])


def test_budgets_are_listed_with_what_is_left() -> None:
    done("key", "create", "app", "--json")
    done("budget", "create", "key", "app", "usd=5", "period=day", "tz=Asia/Tokyo")
    done("budget", "set", "key", "app", "day", "usd=7")
    (row,) = json.loads("\n".join(done("budget", "list", "--json")))["budgets"]
    (_, line) = done("budget", "list")
    done("budget", "remove", "key", "app", "day")

    assert (row["usd"], row["left_usd"], row["tz"]) == ("7", "7", "Asia/Tokyo")
    assert line.split()[:5] == ["app", "-", "7", "day", "Asia/Tokyo"]
    assert len(done("budget", "list")) == 1


def test_a_team_goes_when_no_key_belongs_to_it() -> None:
    done("team", "create", "research")
    done("key", "create", "app", "team=research")
    assert "'app'" in failed("team", "remove", "research")[0]
    done("key", "set", "app", "team=none")
    done("team", "remove", "research")

    assert done("team", "list") == ["name  source"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("key", "create", "two words"), "error: name: "),
        (("key", "create", "a", "rpm=many"), "error: rpm: must be a valid integer"),
        (("key", "create", "a", "speed=9"), "error: speed: there is no such field"),
        (("key", "create", "a", "rpm"), "error: rpm: write FIELD=VALUE"),
        (
            ("key", "create", "a", "models=none-such"),
            "error: models: there is no model 'none-such'",
        ),
        (("key", "show", "a"), "error: There is no key 'a'."),
        (("key", "set", "a", "rpm=1"), "error: There is no key 'a'."),
        (("key", "revoke", "a"), "error: There is no key 'a'."),
        (("budget", "create", "team", "a", "usd=1"), "error: team: there is no team 'a'"),
        (("budget", "set", "key", "a", "day", "usd=1"), "error: There is no budget"),
        (("team", "remove", "a"), "error: There is no team 'a'."),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(arguments: tuple[str, ...], line: str) -> None:
    (said,) = failed(*arguments)

    assert said.startswith(line)


def test_a_key_cannot_be_made_without_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKGATE_KEY_SECRET")

    assert "LOCKGATE_KEY_SECRET is not set" in failed("key", "create", "a")[0]


def test_a_gateway_that_strangers_can_reach_starts_when_the_database_has_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(GOOD + "server: {host: 0.0.0.0}\n")
    assert "without keys" in failed("check", str(file))[0]
    assert not (tmp_path / "lockgate.db").exists()
    done("key", "create", "app")

    assert "ok" in done("check", str(file))[-1]
    monkeypatch.delenv("LOCKGATE_KEY_SECRET")
    assert "LOCKGATE_KEY_SECRET" in failed("serve", "-c", str(file))[-1]


@pytest.mark.parametrize("kept", ["nowhere", "database", "configuration"])
def test_what_can_be_pasted_has_a_key_wherever_keys_are_kept(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lockgate.yaml"
    key = "keys: [{name: a, hash: 'hmac-sha256:" + "0" * 64 + "'}]\n"
    file.write_text(GOOD + (key if kept == "configuration" else ""))
    if kept == "database":
        done("key", "create", "app", "-c", str(file))
    told: list[bool] = []
    monkeypatch.setattr(serving, "serve", lambda *_, keyed: told.append(keyed))

    done("serve", "-c", str(file))

    assert told == [kept != "nowhere"]


def test_without_a_database_keys_are_not_made(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(GOOD + "database: {url: none}\n")

    assert "configuration only" in failed("key", "create", "a", "-c", str(file))[0]
