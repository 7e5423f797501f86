from __future__ import annotations

import os
import re
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from gateway.cli import main
from gateway.config import Secrets, load
from gateway.policy.keys import digest
from gateway.preflight import remarks

GOOD = """
providers: {p: {dialect: openai_chat, simulated: {}}}
models: [{name: a, provider: p, price: {input: 1, output: 2}}, {name: b, provider: p}]
"""


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("LOCKGATE_", "OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lockgate.yaml"
    path.write_text(GOOD)
    return path


def lockgate(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Run the command; return its exit code, and its lines of output and of errors."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout.splitlines(), result.stderr.splitlines()


def test_a_file_that_is_right_is_said_to_be(file: Path) -> None:
    code, out, err = lockgate("check", str(file))

    assert (code, err) == (0, [])
    assert out[-1] == f"{file}: ok, 2 models, 0 keys"


@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_file_is_named_with_c_or_without_and_once(tmp_path: Path, command: str) -> None:
    file = str(tmp_path / "none.yaml")
    bare, option = lockgate(command, file), lockgate(command, "-c", file)

    assert bare == option
    assert (bare[0], len(bare[2])) == (2, 1)
    twice = lockgate(command, file, "-c", file)
    assert twice == (2, [], ["error: Name one file, with -c or without."])
    assert lockgate("check") == (2, [], ["error: Name the file: lockgate check FILE."])


def test_one_is_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "secret")
    hashed = digest("secret", "key")
    file.write_text(GOOD.split(", {name: b")[0] + f"]\nkeys: [{{name: k, hash: '{hashed}'}}]\n")

    assert lockgate("check", str(file))[1][-1] == f"{file}: ok, 1 model, 1 key"


def test_its_version_is_told() -> None:
    assert lockgate("--version") == (0, [f"lockgate {metadata.version('lockgate')}"], [])


def test_each_of_several_faults_has_a_line_with_its_path(file: Path) -> None:
    file.write_text(
        GOOD.replace("provider: p}]", "provider: q}]") + "reliability: {judge: x, critic: y}\n"
    )

    _, _, err = lockgate("check", str(file))

    assert err == [
        "error: models.b.provider: there is no provider 'q'",
        "error: reliability.judge: there is no model 'x'",
        "error: reliability.critic: there is no model 'y'",
    ]


STAGES = """
providers:
  p: {dialect: openai_chat, simulated: {}, api_key: '${NO_KEY}'}
  q: {dialect: openai_chat, base_url: 'ftp://x', sped: 1}
  r: {dialect: openai_chat}
models:
  - {name: a, provider: p, price: {input: 1}}
  - {name: b, provider: nowhere}
  - {provider: p}
  - {name: c, provider: r, fallbacks: [a, nobody]}
server: {port: high, host: 0.0.0.0}
reliability: {default: magic, judge: a, techniques: {best_of_n: {num_samples: 99}}}
"""


def test_no_fault_hides_another(file: Path) -> None:
    file.write_text(STAGES)

    _, _, err = lockgate("check", str(file))

    assert [line.removeprefix("error: ").partition(": ")[0] for line in err] == [
        "providers.p.api_key",
        "server.port",
        "providers.q.sped",
        "providers.r",
        "models.0.price.output",
        "models.2.name",
        "models.b.provider",
        "models.c.fallbacks",
        "server.host",
        "providers.q.base_url",
        "reliability.default",
        "reliability.techniques.best_of_n.num_samples",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "providers: {p: {dialect: openai_chat, base_url: '${NO_URL}'}}\n"
        "models: [{name: a, provider: p}]\n",
        "providers: {p: {dialect: openai_chat}}\n"
        "models: [{name: a, provider: p}, {name: b, provider: p}]\n",
        "providers: {p: {dialect: openai_chat, simulated: {}}}\nmodels: [{name: a}]\n"
        "reliability: {judge: a}\n",
        "providers: {p: {dialect: openai_chat, simulated: {}}}\nmodels: 5\n",
        GOOD + "keys: [{name: k}]\nserver: {host: 0.0.0.0}\n",
    ],
)
def test_what_comes_of_another_fault_is_not_told(file: Path, text: str) -> None:
    file.write_text(text)

    assert len(lockgate("check", str(file))[2]) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "upstream: {retrys: 1}",
            "upstream.retrys: there is no such setting; allowed here: connect_s, first_byte_s, "
            "idle_s, retries, backoff_s, max_wait_s, pool, breaker, proxy, no_proxy, list_s",
        ),
        (
            "keys: [{name: k, hash: x, budget: {eur: 3}}]",
            "keys.0.budget.eur: there is no such setting; allowed here: usd, period, tz",
        ),
        (
            "router: {kind: fixed}",
            "router.kind: there is no such setting; allowed here: semknn, acm_table, acm_linear, "
            "type, lambda, embedding, learning, store, url, token, timeout_ms, arms, refresh_s",
        ),
        ("server: {port: 70000}", "server.port: must be less than or equal to 65535"),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(file: Path, text: str, line: str) -> None:
    file.write_text(GOOD + text)

    assert f"error: {line}" in lockgate("check", str(file))[2]


def test_a_name_of_the_operators_own_is_no_setting(file: Path) -> None:
    file.write_text(
        "providers: {limits: {dialect: openai_chat, simulated: {}, key: x}}\n"
        "models: [{name: a, provider: limits}]\n"
    )

    (line,) = lockgate("check", str(file))[2]

    assert "providers.limits.key: " in line
    assert "base_url" in line


def test_a_short_secret_is_remarked_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "short")

    assert "LOCKGATE_KEY_SECRET is short" in lockgate("key", "new", "a")[2][0]


def test_what_an_operator_should_know_is_told_with_it(file: Path) -> None:
    file.write_text(GOOD + "reuse: {enabled: true}\n")

    _, out, _ = lockgate("check", str(file))

    assert "note: reuse: read, but not in effect in this version" in out
    assert any("LOCKGATE_ADMIN_TOKEN" in line for line in out)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (GOOD + "servr: {}\n", "error: servr: "),
        (GOOD.replace("simulated: {}", "base_url: 'http://10.0.0.1'"), "error: providers.p.base_"),
        (GOOD + "server: {host: 0.0.0.0}\n", "error: server.host: without keys"),
        ("models: []", "error: models: there is none"),
    ],
)
@pytest.mark.parametrize("command", ["check", "serve"])
def test_a_file_that_is_wrong_stops_with_one_line_a_fault(
    file: Path, command: str, text: str, line: str
) -> None:
    file.write_text(text)

    code, out, err = lockgate(command, *(["-c"] if command == "serve" else []), str(file))

    assert (code, out) == (2, [])
    assert len(err) == 1
    assert err[0].startswith(line)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    code, _, err = lockgate("check", str(tmp_path / "none.yaml"))

    assert code == 2
    assert "none.yaml" in err[0]


@pytest.mark.parametrize("name", ["team-a", "Team: B, {c}", "yes"])
def test_a_new_key_is_shown_once_and_its_line_can_be_pasted(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "secret")

    code, out, _ = lockgate("key", "new", name)

    assert code == 0
    (key,) = [line for line in out if line.startswith("lg-")]
    pasted = "\n".join(out[out.index("keys:") :])
    file.write_text(GOOD + pasted)
    (row,) = load(file).keys
    assert (row.name, row.hash) == (name, digest("secret", key))
    assert key not in pasted


def test_two_keys_are_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "secret")

    first, second = lockgate("key", "new", "a")[1], lockgate("key", "new", "a")[1]

    assert set(first) & set(second) <= {"", "keys:", first[2]}


def test_without_a_secret_one_is_made_that_fits_the_hash() -> None:
    code, out, _ = lockgate("key", "new", "a")

    text = "\n".join(out)
    assert code == 0
    secret = re.search(r"LOCKGATE_KEY_SECRET=(\S+)", text)
    key = re.search(r"^lg-\S+", text, re.MULTILINE)
    assert secret
    assert key
    (row,) = yaml.safe_load("\n".join(out[out.index("keys:") :]))["keys"]
    assert row["hash"] == digest(secret[1], key[0])


def test_without_a_command_it_says_what_there_is() -> None:
    result = CliRunner().invoke(main, [])

    for command in ("serve", "check", "key", "demo"):
        assert command in result.output


@pytest.mark.parametrize("written", ["${EMPTY}", "${BLANK}", "file:empty"])
def test_an_empty_key_of_a_provider_is_a_fault_to_check_and_told_of_by_all(
    file: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("BLANK", "  ")
    (file.parent / "empty").write_text("\n")
    file.write_text(
        f"providers: {{p: {{dialect: anthropic, base_url: 'https://a.example', "
        f"api_key: '{written}'}}}}\nmodels: [{{name: m, provider: p}}]\n"
    )

    code, _, err = lockgate("check", str(file))
    remarked = remarks(load(file), Secrets(None, None))

    assert (code, err) == (
        2,
        ["error: providers.p.api_key: it is empty, and the provider will refuse all calls"],
    )
    assert err[0].removeprefix("error: ") in remarked


@pytest.mark.parametrize("written", ["", "api_key: '${FULL}'"])
def test_a_key_that_is_there_or_not_wanted_is_none(
    file: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("FULL", "sk-x")
    file.write_text(
        "providers: {p: {dialect: anthropic, base_url: 'https://a.example', "
        f"{written}}}}}\nmodels: [{{name: m, provider: p}}]\n"
    )

    code, out, _ = lockgate("check", str(file))

    assert code == 0
    assert not any("api_key" in line for line in out)
