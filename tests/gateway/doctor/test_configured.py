"""What is told of a configuration, the secrets beside it, and the machine."""

from __future__ import annotations

import resource
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import orjson
import pytest
from typer.testing import CliRunner

from gateway.cli import main
from gateway.config import Secrets
from gateway.doctor import configured, machine
from gateway.doctor.case import Check
from gateway.policy.keys import digest
from gateway.stores.database.engine import opened
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import KeyRecord
from techniques.core.json import Json
from tests.gateway.doctor.scene import SIM, bad, case, looked

REAL: Json = {"dialect": "openai_chat", "base_url": "https://a.example/v1", "api_key": "k"}
UNPRICED: dict[str, Json] = {
    "providers": {"p": REAL},
    "models": [{"name": "m", "provider": "p"}],
}
KEY = {"name": "k", "hash": digest("s", "k")}


@pytest.mark.parametrize(
    ("known", "keys", "levels"),
    [
        (Secrets("k" * 32, "a" * 32), [], []),
        (Secrets(None, "a" * 32), [], []),
        (Secrets(None, "a" * 32), [KEY], ["error"]),
        (Secrets("k" * 32, None), [], ["warning"]),
        (Secrets("short", "short"), [], ["warning", "warning"]),
    ],
)
def test_secrets_that_are_missing_or_short_are_warned_of(
    known: Secrets, keys: Json, levels: list[str]
) -> None:
    found = looked(configured.secrets, case(known, keys=keys))

    assert [level for level, _ in bad(found)] == levels
    assert all(it.fix for it in found if it.level == "warning")


def with_a_key(file: Path) -> dict[str, Json]:
    async def make() -> None:
        async with opened(f"sqlite+aiosqlite:///{file}") as made:
            await OwnerTables(made).add_key(KeyRecord("app", "lg-abc", "hmac-sha256:01"), [])

    anyio.run(make)
    return {"url": f"sqlite:///{file}"}


@pytest.mark.parametrize("where", ["configuration", "database"])
def test_keys_without_their_secret_are_an_error_wherever_they_stand(
    tmp_path: Path, where: str
) -> None:
    stated: dict[str, Json] = {"keys": [KEY]}
    if where == "database":
        stated = {"database": with_a_key(tmp_path / "x.db")}
    found = looked(configured.secrets, case(Secrets(None, "a" * 32), **stated))

    assert bad(found) == [("error", "LOCKGATE_KEY_SECRET is not set, and there are keys")]
    assert "token_urlsafe" not in found[-1].fix  # with another secret they are void
    assert not any("whoever" in it.what for it in found)


@pytest.mark.parametrize("secret", [None, "k" * 32])
def test_a_gateway_is_called_open_only_where_it_is(tmp_path: Path, secret: str | None) -> None:
    def is_open(**database: Json) -> bool:
        examined = case(Secrets(secret, "a" * 32), database=database)
        return any("whoever" in it.what for it in looked(configured.secrets, examined))

    assert is_open(url="none")
    assert is_open(url=f"sqlite:///{tmp_path}/not-made-yet.db")
    assert not is_open(**with_a_key(tmp_path / "x.db"))
    assert not is_open(url="postgresql://u:p@127.0.0.1:1/gone")


@pytest.mark.parametrize(
    ("more", "levels"),
    [
        ({}, ["warning"]),
        ({"keys": [{**KEY, "budget": {"usd": 1}}]}, ["error"]),
        ({"teams": [{"name": "t", "budget": {"usd": 1}}]}, ["error"]),
    ],
)
def test_a_model_without_a_price_is_worse_where_there_are_budgets(
    more: dict[str, Json], levels: list[str]
) -> None:
    found = looked(configured.prices, case(**UNPRICED, **more))

    assert [level for level, _ in bad(found)] == levels
    assert found[-1].fix.startswith("models.m.price: ")


def test_models_with_a_price_are_well() -> None:
    assert bad(looked(configured.prices, case())) == []


SHARED = {"redis": "redis://a:1"}
POSTGRES = {"url": "postgresql://a/b"}


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({}, None),
        ({"database": {"url": "sqlite:///x.db"}}, None),
        ({"database": POSTGRES, "store": SHARED, "server": {"workers": 2}}, None),
        ({"server": {"workers": 2}}, "in memory only"),
        ({"store": SHARED}, "in memory only"),
        ({"database": POSTGRES, "journal": {"durability": "off"}}, "not written down"),
        (
            {"database": POSTGRES, "store": SHARED, "journal": {"durability": "memory"}},
            "in memory only",
        ),
        ({"database": {"url": "sqlite:///x.db"}, "store": SHARED}, "a file of this machine"),
    ],
)
def test_runs_that_would_be_lost_are_warned_of(sections: dict[str, Json], said: str | None) -> None:
    found = bad(looked(configured.journal, case(**sections)))

    assert [said in what for _, what in found if said] == ([True] if said else [])
    assert len(found) == (said is not None)


@pytest.mark.parametrize(("days", "levels"), [(10, []), (89, []), (91, ["warning"])])
def test_what_was_measured_long_ago_is_warned_of(
    tmp_path: Path, days: int, levels: list[str]
) -> None:
    file = tmp_path / "c.json"
    made = f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%d}"
    file.write_bytes(orjson.dumps({"made": made}))
    found = looked(configured.calibration, case(reliability={"calibration": str(file)}))

    assert [level for level, _ in bad(found)] == levels
    assert f"{days} days old" in found[0].what
    assert [it.level for it in looked(configured.calibration, case())] == ["skipped"]


def test_what_is_remarkable_is_noted_and_what_is_kept_is_told() -> None:
    captured = case(traffic={"capture": "full"})
    noted = looked(configured.configuration, captured)
    kept = looked(configured.capture, captured)

    assert bad(noted) == bad(kept) == []
    assert any(it.what.startswith("traffic: read, but not in effect") for it in noted)
    assert "nothing is captured" in kept[0].what
    assert kept[1].fix.startswith("journal.encryption: ")
    sealed = looked(configured.capture, case(journal={"encryption": "0f" * 32}))
    assert [it.level for it in sealed] == ["ok", "ok"]
    assert looked(configured.capture, case(journal={"durability": "off"}))[1:] == []


@pytest.mark.parametrize(
    ("encryption", "level", "words"),
    [(None, "note", "as they are"), ("0f" * 32, "ok", "encrypted")],
)
def test_it_is_told_that_responses_are_kept(encryption: Json, level: str, words: str) -> None:
    stated = {"store": "on", "retention": "36h"}
    database = {"url": "sqlite:///kept.db"}
    found = looked(
        configured.capture,
        case(responses=stated, database=database, journal={"encryption": encryption}),
    )
    assert found[-1].level == level
    assert "kept for 1.5 days" in found[-1].what
    assert words in found[-1].what


@pytest.mark.parametrize(("limit", "levels"), [(256, ["warning"]), (4096, []), (-1, [])])
def test_few_open_files_are_warned_of(
    monkeypatch: pytest.MonkeyPatch, limit: int, levels: list[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (limit, 100_000))
    found = looked(machine.files, case())

    assert [level for level, _ in bad(found)] == levels
    assert not levels or found[0].fix.startswith("ulimit -n 65536")


def test_settings_of_the_kernel_that_are_in_the_way_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("core/somaxconn", "128"), ("ipv4/ip_local_port_range", "32768 40000")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "_NET", tmp_path)
    found = looked(machine.kernel, case())
    monkeypatch.setattr(machine, "_NET", tmp_path / "nowhere")

    assert [it.level for it in found] == ["note", "note"]
    assert looked(machine.kernel, case()) == []


@pytest.mark.parametrize(("workers", "level"), [(1, "ok"), (200, "note")])
def test_more_workers_than_processors_are_noted(workers: int, level: str) -> None:
    assert [it.level for it in looked(machine.processors, case(server={"workers": workers}))] == [
        level
    ]


def test_a_sandbox_that_runs_nothing_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check: Check = machine.sandbox
    ill = looked(check, case(reliability={"sandbox": "docker"}))
    well = looked(check, case(reliability={"sandbox": {"kind": "process", "trusted": True}}))

    assert [level for level, _ in bad(ill)] == ["warning"]
    assert ill[0].fix.startswith("docker pull python:")
    assert [it.level for it in well] == ["ok"]
    assert looked(check, case(providers={"p": SIM})) == []


def test_keys_of_the_database_are_told_of_beside_those_of_the_file(tmp_path: Path) -> None:
    (none, *_), (some, *_) = (
        looked(configured.configuration, case(database=database))
        for database in ({"url": "none"}, with_a_key(tmp_path / "x.db"))
    )

    assert none.what.endswith("1 model, 0 keys")
    assert some.what.endswith("1 model, 0 keys and more in the database")


def test_nothing_is_said_of_a_database_whose_address_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(
        "providers: {p: {dialect: openai_chat, simulated: {}}}\n"
        "models: [{name: m, provider: p, model: sim-small}]\n"
        "database: {url: 'mysql://127.0.0.1/x'}\n"
    )

    done = CliRunner().invoke(main, ["doctor", "-c", str(file), "--offline", "--json"])

    found = orjson.loads(done.output)["findings"]
    assert done.exit_code == 2
    assert "database.url" in found[0]["what"]
    of_database = [it["what"] for it in found if it["check"] == "database"]
    assert of_database == ["its address cannot be read"]
    assert not any("lockgate.db" in it["what"] for it in found)
    assert not any("whoever reaches" in it["what"] for it in found)
    assert not any(it["check"] == "journal" for it in found)
