"""What is told of a gateway that runs, and what of one of whose stores some do not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from gateway.policy.keys import digest
from gateway.stores.database.day import DayTable
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.journal import JournalLost
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.ledger import StoreLost
from gateway.stores.memory import MemoryLedger
from techniques.core.groups import task_group
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import OPEN, Running, chat, serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
NOW, DAY = "/admin/overview", "/admin/overview/today"
SLOW = {
    "sim": {
        "dialect": "openai_chat",
        "simulated": {"seed": 0, "speed": 0.05},
        "limits": {"concurrency": 1, "rpm": 600},
    }
}


def failing(error: Exception) -> Callable[..., Any]:
    async def fail(*_: object, **__: object) -> None:
        raise error

    return fail


async def told(gateway: Running, path: str = NOW) -> Json:
    answer = await gateway.ask(path, OPEN)
    assert answer.status == 200
    return answer.json


async def test_what_is_under_way_is_told_as_long_as_it_is() -> None:
    async with serving(providers=SLOW) as gateway:
        before = await told(gateway)
        with anyio.move_on_after(10) as served:
            async with task_group() as group:
                for _ in range(2):
                    group.start_soon(gateway.ask, "/v1/chat/completions", {}, chat())
                now = before
                while not (now["limits"]["accounts"][0]["queued"] and now["counts"]["held"]):
                    now = await told(gateway)
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()
        after = await told(gateway)

    assert not served.cancelled_caught
    assert (before["calls"], before["ended"], before["more"]) == ([], [], 0)
    assert before["try"] == {"model": "small", "keyed": False}
    assert now["counts"] == {"executing": 1, "held": 1, "suspended": 0}
    (held,) = [call for call in now["calls"] if call["state"] == "held"]
    assert held["waits"][0]["account"] == "sim"
    (account,) = now["limits"]["accounts"]
    assert (account["account"], account["queued"], account["under_way"]) == ("sim", 1, 1)
    assert (now["limits"]["mode"], now["limits"]["shared"], now["runs_shared"]) == (
        "on",
        False,
        False,
    )
    assert after["counts"] == {"executing": 0, "held": 0, "suspended": 0}


async def test_what_has_ended_is_told_with_what_it_cost() -> None:
    async with serving() as gateway:
        technique = {"x-lockgate-technique": "self_consistency"}
        await gateway.ask("/v1/chat/completions", technique, chat())
        await gateway.ask("/v1/chat/completions", {}, chat("none-such"))
        last, first = (await told(gateway))["ended"]
        day = await told(gateway, DAY)

    assert (last["outcome"], last["code"], last["calls"]) == ("rejected", "model_not_found", 0)
    assert (first["outcome"], first["technique"]) == ("success", "self_consistency")
    assert float(first["cost_usd"]) == 0.25 * first["calls"]
    assert day["spend"]["usd"] == first["cost_usd"]
    assert [it["request_id"] for it in day["errors"]] == [last["request_id"]]


async def test_what_does_not_answer_is_named_and_the_rest_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(providers=SLOW) as gateway:
        monkeypatch.setattr(MemoryJournal, "listed", failing(JournalLost("gone")))
        monkeypatch.setattr(MemoryLedger, "peek", failing(StoreLost("gone")))
        lost = await told(gateway)

    assert sorted(lost["lost"]) == ["journal", "store"]
    assert (lost["calls"], lost["limits"]["accounts"]) == ([], [])
    assert lost["process"]["stopping"] is False


async def test_budgets_are_told_that_of_which_the_smallest_part_is_left_first(
    tmp_path: object,
) -> None:
    names = [("a", 1), ("b", 100), ("c", 0.5)]
    keys = [
        {"name": name, "hash": digest("s", f"key-{name}"), "budget": {"usd": usd, "period": "day"}}
        for name, usd in names
    ]
    teams = [{"name": f"t{number:02}", "budget": {"usd": 5}} for number in range(12)]
    database = {"url": f"sqlite:///{tmp_path}/lockgate.db"}
    async with serving(keys=keys, teams=teams, database=database) as gateway:
        for name in ("a", "c"):
            asked = {"authorization": f"Bearer key-{name}"}
            assert (await gateway.ask("/v1/chat/completions", asked, chat())).status == 200
        await gateway.ask("/admin/ledger?key=c", OPEN)  # by then all is written
        told_of = (await told(gateway, DAY))["budgets"]

    first, second, *rest = told_of["list"]
    assert (first["key"], first["left_usd"], first["period"]) == ("c", "0.25", "day")
    assert (second["key"], second["spent_usd"], second["usd"]) == ("a", "0.25", "1")
    assert (len(rest), told_of["more"]) == (10, 3)
    assert all(it["spent_usd"] == "0" for it in rest)


async def test_a_day_that_the_database_does_not_tell_is_told_to_be_lost(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    async with serving(database={"url": f"sqlite:///{tmp_path}/lockgate.db"}) as gateway:
        monkeypatch.setattr(DayTable, "spent", failing(DatabaseLost("gone")))
        answer = await gateway.ask(DAY, OPEN)
        now = await told(gateway)

    assert (answer.status, answer.json["error"]["code"]) == (503, "unavailable")
    assert now["runs_shared"] is True


async def test_without_pacing_and_journal_there_is_nothing_to_tell_of_them() -> None:
    async with serving(pacing={"mode": "off"}, journal={"durability": "off"}) as gateway:
        now = await told(gateway)

    assert now["limits"] == {"mode": "off", "shared": False, "accounts": []}
    assert (now["lost"], now["runs_shared"]) == ([], False)
