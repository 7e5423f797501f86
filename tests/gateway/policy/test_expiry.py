"""Keys that are good until a certain time, wherever they are made, used, listed and warned of."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from gateway.clock import utc_now
from gateway.config import Config, Secrets, load
from gateway.config.callers import KeyConfig
from gateway.doctor.keys import keys as going
from gateway.policy.expiry import goes_soon, how_soon
from gateway.policy.key_book import KeyBook
from gateway.policy.keys import Caller, KeyRing, OpenDoor, digest
from gateway.preflight import remarks
from gateway.runs.book import RunBook
from gateway.stores.database.engine import opened
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.records import KeyRecord
from gateway.stores.database.rows import instant
from gateway.stores.journal.memory import MemoryJournal
from gateway.surfaces.behind import sweeping
from techniques.core.errors import Unauthenticated
from tests.gateway.doctor.scene import bad, case, looked
from tests.gateway.serving.test_callers import done, failed
from tests.gateway.serving.test_cli import lockgate
from tests.gateway.surfaces.test_behind import Refusing, put
from tests.gateway.surfaces.test_operations import OPEN, chat, serving
from tests.gateway.surfaces.test_reload import serving as reloading

NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)
HASH = digest("s", "key")
MINE = {"x-api-key": "key"}


def at(days: float) -> str:
    return (utc_now() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("'2027-01-31'", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T12:00:00Z", NOON),
        ("2027-01-31 12:00", NOON),
        ("'2027-01-31T13:00+01:00'", NOON),
        ("2027-01-31T13:00:00+01:00", NOON),
    ],
)
def test_a_date_or_a_time_is_read_as_utc(tmp_path: Path, text: str, read: datetime) -> None:
    file = tmp_path / "lockgate.yaml"
    file.write_text(f'keys: [{{name: app, hash: "{HASH}", expires: {text}}}]')

    assert load(file).keys[0].expires == read


@pytest.mark.parametrize("value", ["soon", "2027-02-30", 1801353600, True, [], "0001-01-01T00+05"])
def test_what_is_no_time_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ValueError, match="no date or time such as"):
        KeyConfig(name="app", hash=HASH, expires=value)


async def test_a_key_is_good_until_it_expires_and_then_says_so() -> None:
    clock = [NOON - timedelta(seconds=1)]
    ring = KeyRing("s", [(HASH, Caller("app", expires=NOON))], lambda: clock[0])
    assert (await ring.caller(MINE)).name == "app"
    clock[0] = NOON

    with pytest.raises(Unauthenticated, match="expired at 2027-01-31T12:00:00Z") as caught:
        await ring.caller(MINE)
    assert caught.value.code == "api_key_expired"
    assert ring.named("app") is not None  # what it has begun is its own still


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_one_of_the_database_works_again_when_it_is_given_more_time(
    database_url: str,
) -> None:
    async with opened(database_url) as database:
        owners = OwnerTables(database)
        book = KeyBook("s", [], owners, lambda: NOON)
        await owners.add_key(KeyRecord("app", "lg", HASH, expires=instant(NOON.timestamp())))
        with pytest.raises(Unauthenticated, match="expired"):
            await book.caller(MINE)
        await owners.change_key("app", {"expires": instant(NOON.timestamp()) + 1})
        await anyio.sleep(0.5)  # by then it is looked for again

        assert (await book.caller(MINE)).name == "app"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_over_http_it_is_made_refused_and_prolonged(tmp_path: Path) -> None:
    database = {"url": f"sqlite:///{tmp_path}/lockgate.db"}
    async with serving(database=database) as gateway:
        asked = {"name": "app", "expires": "2020-01-31"}
        made = (await gateway.ask("/admin/keys", OPEN, asked)).json
        mine = {"x-api-key": made["key"]}
        refused = [
            await gateway.ask(path, mine, chat())
            for path in ("/v1/chat/completions", "/v1/messages", "/api/chat")
        ]
        (told,) = (await gateway.ask("/admin/overview/today", OPEN)).json["keys"]["list"]
        wrong = await gateway.ask("/admin/keys/app", OPEN, {"expires": "soon"}, "PATCH")
        await gateway.ask("/admin/keys/app", OPEN, {"expires": None}, "PATCH")
        with anyio.fail_after(5):  # within a second it is known
            while (served := await gateway.ask("/v1/models", mine)).status == 401:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        (listed,) = (await gateway.ask("/admin/keys", OPEN)).json["keys"]

    assert made["expires"] == told["expires"] == "2020-01-31T00:00:00+00:00"
    assert [answer.status for answer in refused] == [401] * 3
    assert all(b"expired at 2020-01-31T00:00:00Z" in answer.body for answer in refused)
    assert refused[0].json["error"]["code"] == "api_key_expired"
    assert refused[1].json["error"]["type"] == "authentication_error"
    assert (wrong.status, wrong.json["error"]["param"]) == (400, "expires")
    assert (served.status, listed["expires"]) == (200, None)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_reload_changes_it(tmp_path: Path) -> None:
    def keys(days: float) -> Any:
        return [{"name": "app", "hash": HASH, "expires": at(days)}]

    async with reloading(tmp_path, keys=keys(1)) as scene:
        before = await scene.gateway.ask("/v1/chat/completions", MINE, chat())
        assert (await scene.reload(keys=keys(-1))).status == 200
        after = await scene.gateway.ask("/v1/chat/completions", MINE, chat())
        assert (await scene.reload(keys=keys(9))).status == 200
        again = await scene.gateway.ask("/v1/chat/completions", MINE, chat())

    assert [answer.status for answer in (before, after, again)] == [200, 401, 200]


async def test_a_run_of_a_key_that_has_expired_is_not_taken_up() -> None:
    class Door(OpenDoor):
        def named(self, name: str | None) -> Caller | None:
            return Caller("app", expires=datetime(2020, 1, 31, tzinfo=UTC))

    journal = MemoryJournal()
    await put(journal, "run")
    nothing: Any = None
    behind = Refusing(Door(), nothing, (), RunBook(journal), {}, goes="run")
    with anyio.move_on_after(60):
        await sweeping(behind.gate, lambda: behind)

    assert behind.tried == []


def test_the_command_line_makes_lists_and_changes_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "a secret of some length")
    monkeypatch.chdir(tmp_path)
    done("key", "create", "app", "expires=2020-01-31")
    gone = done("key", "list")[1]
    done("key", "set", "app", "expires=2999-12-31T12:00:00Z")
    later = done("key", "list")[1]
    done("key", "set", "app", "expires=none")
    shown = json.loads("\n".join(done("key", "show", "app")))

    assert gone.endswith(" expired")
    assert later.endswith(" until 2999-12-31 12:00")
    assert shown["expires"] is None
    assert "expires" in failed("key", "set", "app", "expires=soon")[0]


def test_a_key_that_is_refused_from_the_first_call_on_is_not_made_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOCKGATE_KEY_SECRET", "a secret of some length")
    monkeypatch.chdir(tmp_path)
    note = "note: it expired at 2020-01-31 00:00 UTC: nobody is served by it"

    made = lockgate("key", "create", "app", "expires=2020-01-31")[2]
    rotated = lockgate("key", "rotate", "app", "--json")[2]
    good = lockgate("key", "set", "app", "expires=2999-12-31")[2]
    ended = lockgate("key", "set", "app", "expires=2020-01-31")[2]

    assert (made[0], rotated, good, ended) == (note, [note], [], [note])


@pytest.mark.parametrize(
    ("left", "soon", "said"),
    [
        (timedelta(days=15), False, "expires in 15 days, at 2027-01-31 12:00 UTC"),
        (timedelta(days=14), True, "expires in 14 days, at 2027-01-31 12:00 UTC"),
        (timedelta(hours=25), True, "expires in 1 day, at 2027-01-31 12:00 UTC"),
        (timedelta(0), True, "expired at 2027-01-31 12:00 UTC"),
    ],
)
def test_one_is_told_of_two_weeks_before(left: timedelta, said: str, *, soon: bool) -> None:
    assert goes_soon(NOON, NOON - left) is soon
    assert how_soon(NOON, NOON - left) == said
    assert not goes_soon(None, NOON)


def test_check_and_doctor_tell_of_keys_that_go(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    expires = instant((utc_now() + timedelta(days=5.5)).timestamp())

    async def make() -> None:
        async with opened(f"sqlite+aiosqlite:///{file}") as made:
            owners = OwnerTables(made)
            await owners.add_key(KeyRecord("kept", "lg", "hmac-sha256:01", expires=expires))
            await owners.add_key(KeyRecord("gone", "lg", "hmac-sha256:02", expires=1))
            await owners.revoke_key("gone")

    anyio.run(make)
    stated = [("soon", 2.5), ("late", 99.0), ("over", -1.0)]
    keys = [
        {"name": name, "hash": digest("s", name), "expires": at(days)} for name, days in stated
    ] + [{"name": "ever", "hash": HASH}]
    examined = case(keys=keys, database={"url": f"sqlite:///{file}"})
    said = [line for line in remarks(examined.config, Secrets("s", "a")) if "expire" in line]
    found = looked(going, examined)

    assert [line.split(" at ")[0] for line in said] == [
        "keys.soon.expires: it expires in 2 days,",
        "keys.over.expires: it expired",
    ]
    assert [(level, what.split(" at ")[0]) for level, what in bad(found)] == [
        ("warning", "keys.soon expires in 2 days,"),
        ("warning", "keys.over expired"),
        ("warning", "kept expires in 5 days,"),
    ]
    assert all(it.fix for it in found)


def test_where_none_goes_soon_doctor_warns_of_none(tmp_path: Path) -> None:
    database = {"url": f"sqlite:///{tmp_path}/none.db"}
    late = [{"name": "late", "hash": HASH, "expires": at(99.5)}]
    (found,) = looked(going, case(keys=late, database=database))

    assert (found.level, found.what.split(", ")[0]) == (
        "ok",
        "the first of them expires in 99 days",
    )
    assert looked(going, case(database=database)) == []


def test_the_hash_of_a_configuration_has_it() -> None:
    key = {"name": "app", "hash": HASH, "expires": "2027-01-31"}
    stated = Config.model_validate({"keys": [key]}).model_dump(mode="json")

    assert stated["keys"][0]["expires"] == "2027-01-31T00:00:00Z"
