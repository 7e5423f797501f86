"""Keys, teams, budgets and the ledger, as an administrator asks for them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gateway.policy.keys import digest
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import OPEN, Answer, Running, chat, serving

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

FILE_KEY: dict[str, Json] = {
    "name": "fixed",
    "hash": digest("s", "key"),
    "team": "filed",
    "budget": {"usd": 2},
}
FILE: dict[str, Any] = {
    "keys": [FILE_KEY],
    "teams": [{"name": "filed", "budget": {"usd": 3, "period": "day"}}],
}


@pytest.fixture
def database(tmp_path: Path) -> dict[str, Json]:
    return {"url": f"sqlite:///{tmp_path}/lockgate.db"}


async def made(gateway: Running, path: str, body: Json) -> Json:
    answer = await gateway.ask(path, OPEN, body)
    assert answer.status == 201, answer.body
    return answer.json


async def called(gateway: Running, key: str) -> Answer:
    return await gateway.ask("/v1/chat/completions", {"x-api-key": key}, chat())


async def test_a_key_is_shown_once_works_and_can_be_revoked(
    database: Json, capfd: pytest.CaptureFixture[str]
) -> None:
    async with serving(database=database) as gateway:
        key = await made(gateway, "/admin/keys", {"name": "app", "models": ["small"], "rpm": 9})
        listed = await gateway.ask("/admin/keys", OPEN)
        served = await called(gateway, key["key"])
        revoked = await gateway.ask("/admin/keys/app", OPEN, method="DELETE")
        gone = await gateway.ask("/admin/keys/app", OPEN, method="DELETE")

    assert re.fullmatch(r"lg-[A-Za-z0-9_-]{43}", key["key"])
    assert key["key"].encode() not in listed.body
    assert key["key"] not in "".join(capfd.readouterr())
    (row,) = listed.json["keys"]
    assert (row["name"], row["prefix"], row["rpm"]) == ("app", key["key"][:9], 9)
    assert (served.status, gone.status) == (200, 404)
    assert revoked.json["revoked_at"] is not None


async def test_a_key_is_changed_by_what_is_said_and_rotated(database: Json) -> None:
    async with serving(database=database) as gateway:
        await made(gateway, "/admin/teams", {"name": "research"})
        old = await made(
            gateway, "/admin/keys", {"name": "app", "rpm": 9, "caps": {"max_calls": 3}}
        )
        body = {"team": "research", "caps": {"deadline_ms": 50}, "models": ["large"], "weight": 2}
        changed = (await gateway.ask("/admin/keys/app", OPEN, body, "PATCH")).json
        body = {"rpm": None, "models": None}
        freed = (await gateway.ask("/admin/keys/app", OPEN, body, "PATCH")).json
        new = (await gateway.ask("/admin/keys/app/rotate", OPEN, {})).json

    assert (changed["rpm"], changed["team"], changed["weight"]) == (9, "research", 2)
    assert changed["caps"] == {"max_calls": 3, "max_cost_usd": None, "deadline_ms": 50}
    assert (freed["rpm"], freed["models"], freed["team"]) == (None, None, "research")
    assert new["key"] != old["key"]


async def test_what_a_configuration_has_is_listed_and_changed_there(database: Json) -> None:
    async with serving(database=database, **FILE) as gateway:
        keys = (await gateway.ask("/admin/keys", OPEN)).json["keys"]
        budgets = (await gateway.ask("/admin/budgets", OPEN)).json["budgets"]
        refused = [
            await gateway.ask("/admin/keys", OPEN, {"name": "fixed"}),
            await gateway.ask("/admin/teams", OPEN, {"name": "filed"}),
            await gateway.ask("/admin/keys/fixed", OPEN, {"rpm": 1}, "PATCH"),
            await gateway.ask("/admin/keys/fixed", OPEN, method="DELETE"),
            await gateway.ask("/admin/budgets", OPEN, {"key": "fixed", "usd": 1}),
            await gateway.ask("/admin/budgets/team/filed/day", OPEN, {"usd": 1}, "PATCH"),
        ]

    assert [(key["name"], key["source"], key["prefix"]) for key in keys] == [
        ("fixed", "file", None)
    ]
    assert [(b["key"], b["team"], b["usd"]) for b in budgets] == [
        (None, "filed", "3"),
        ("fixed", None, "2"),
    ]
    assert [answer.status for answer in refused] == [409] * 6


async def test_a_budget_tells_what_is_spent_and_left_of_its_period(database: Json) -> None:
    async with serving(database=database) as gateway:
        await made(gateway, "/admin/teams", {"name": "t", "budget": {"usd": "9"}})
        budget = {"usd": 8, "period": "day", "tz": "Asia/Tokyo"}
        key = await made(gateway, "/admin/keys", {"name": "app", "team": "t", "budget": budget})
        await called(gateway, key["key"])
        await called(gateway, key["key"])
        await gateway.ask("/admin/ledger?key=app", OPEN)
        day, month = (await gateway.ask("/admin/budgets", OPEN)).json["budgets"]

    assert (day["key"], day["spent_usd"], day["left_usd"]) == ("app", "0.5", "7.5")
    assert (month["team"], month["spent_usd"], month["left_usd"]) == ("t", "0.5", "8.5")
    start, end = (datetime.fromisoformat(day[edge]) for edge in ("start", "end"))
    assert start <= datetime.now(UTC) < end
    assert (end - start).total_seconds() == 86400


async def test_a_budget_is_made_changed_and_taken_away(database: Json) -> None:
    async with serving(database=database) as gateway:
        await made(gateway, "/admin/keys", {"name": "app"})
        await made(gateway, "/admin/budgets", {"key": "app", "usd": 5, "period": "week"})
        twice = await gateway.ask(
            "/admin/budgets", OPEN, {"key": "app", "usd": 6, "period": "week"}
        )
        path = "/admin/budgets/key/app/week"
        changed = await gateway.ask(path, OPEN, {"usd": "7.25"}, "PATCH")
        removed = await gateway.ask(path, OPEN, method="DELETE")
        again = await gateway.ask(path, OPEN, method="DELETE")

    assert (twice.status, removed.status, again.status) == (409, 200, 404)
    assert (changed.json["usd"], changed.json["tz"]) == ("7.25", "UTC")


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/admin/keys", {}, "name"),
        ("/admin/keys", {"name": "two words"}, "name"),
        ("/admin/keys", {"name": "*"}, "name"),
        ("/admin/keys", {"name": "a", "rpms": 1}, "rpms"),
        ("/admin/keys", {"name": "a", "hash": "x"}, "hash"),
        ("/admin/keys", {"name": "a", "models": ["none"]}, "models"),
        ("/admin/keys", {"name": "a", "techniques": ["none", "magic"]}, "techniques"),
        ("/admin/keys", {"name": "a", "team": "none"}, "team"),
        ("/admin/keys", {"name": "a", "priority": 10}, "priority"),
        ("/admin/keys", {"name": "a", "tpm": 2**62}, "tpm"),
        ("/admin/keys", {"name": "a", "budget": {"usd": -1}}, "budget.usd"),
        ("/admin/keys", {"name": "a", "budget": {"usd": 1, "tz": "Mars/X"}}, "budget.tz"),
        ("/admin/keys", {"name": "a", "budget": {"usd": 10**9}}, "budget.usd"),
        ("/admin/keys", {"name": "a", "budgets": [{"usd": 1}, {"usd": 2}]}, None),
        ("/admin/keys", [], None),
        ("/admin/budgets", {"usd": 1}, None),
        ("/admin/budgets", {"key": "none", "usd": 1}, "key"),
        ("/admin/budgets", {"key": "a", "usd": 1, "period": "year"}, "period"),
        ("/admin/teams", {"name": ""}, "name"),
        ("/admin/keys/app", {"name": "b"}, "name"),
    ],
)
async def test_what_is_asked_for_wrongly_is_said_by_its_field(
    database: Json, path: str, body: Json, param: str | None
) -> None:
    async with serving(database=database) as gateway:
        method = "PATCH" if path.endswith("/app") else "POST"
        answer = await gateway.ask(path, OPEN, body, method)

    assert (answer.status, answer.json["error"]["param"]) == (400, param)
    assert answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("coding", "status"), [("br", 415), ("gzip", 400), ("identity", 201), ("zip, gzip", 415)]
)
async def test_a_body_that_cannot_be_unpacked_is_refused(
    database: Json, coding: str, status: int
) -> None:
    async with serving(database=database) as gateway:
        headers = {**OPEN, "content-encoding": coding}
        answer = await gateway.ask("/admin/keys", headers, {"name": "app"})

    assert answer.status == status
    assert ("error" in answer.json) is (status != 201)


async def test_the_register_is_for_the_admin_alone(database: Json) -> None:
    async with serving(database=database) as gateway:
        refused = [
            await gateway.ask(path, {"authorization": "Bearer no"}, body)
            for path in ("/admin/keys", "/admin/teams", "/admin/budgets")
            for body in (None, {"name": "a"})
        ]
    async with serving(None, database=database) as gateway:
        closed = await gateway.ask("/admin/keys", OPEN, {"name": "a"})

    assert ({answer.status for answer in refused}, closed.status) == ({401}, 403)


async def test_without_a_database_there_is_no_register() -> None:
    async with serving() as gateway:
        answer = await gateway.ask("/admin/keys", OPEN)

    assert answer.status == 404
    assert "database.url" in answer.json["error"]["message"]


async def test_the_ledger_outlives_the_process_that_wrote_it(database: Json) -> None:
    async with serving(database=database) as gateway:
        answer = await gateway.ask("/v1/chat/completions", body=chat())
        name = answer.headers["x-lockgate-request-id"]
        before = (await gateway.ask(f"/admin/ledger?request={name}", OPEN)).json
    async with serving(database=database) as gateway:
        after = (await gateway.ask(f"/admin/ledger?request={name}", OPEN)).json
        run = (await gateway.ask(f"/admin/ledger?run={name}", OPEN)).json

    assert before == after
    assert (after["rows"][0]["cost_usd"], after["request"]["outcome"]) == ("0.25", "success")
    assert run == {"rows": after["rows"]}


async def test_rows_of_a_key_are_found_from_an_instant_on_and_so_many(database: Json) -> None:
    async with serving(database=database, **FILE) as gateway:
        for _ in range(3):
            await called(gateway, "key")
        two = (await gateway.ask("/admin/ledger?key=fixed&limit=2", OPEN)).json["rows"]
        none = (await gateway.ask("/admin/ledger?key=fixed&since=2100-01-01", OPEN)).json["rows"]
        since = two[0]["started_at"].replace("+", "%2B")
        last = (await gateway.ask(f"/admin/ledger?key=fixed&since={since}", OPEN)).json["rows"]
        wrong = [
            await gateway.ask(f"/admin/ledger?key=fixed&{query}", OPEN)
            for query in ("limit=0", "limit=x", "limit=1001", "since=yesterday")
        ]

    assert len(two) == 2
    assert two[0]["started_at"] >= two[1]["started_at"]
    assert (none, last) == ([], two[:1])
    assert {row["team"] for row in two} == {"filed"}
    assert [answer.json["error"]["param"] for answer in wrong] == ["limit"] * 3 + ["since"]


async def test_who_is_let_in_by_no_key_leaves_no_row_behind(database: Json) -> None:
    async with serving(database=database, **FILE) as gateway:
        refused = await called(gateway, "wrong")
        name = refused.headers["x-lockgate-request-id"]
        asked = await gateway.ask(f"/admin/ledger?request={name}", OPEN)
        metrics = (await gateway.ask("/metrics")).body.decode()

    assert refused.status == 401
    assert asked.json["request"]["outcome"] == "denied"
    assert 'lockgate_ledger_requests_total{result="written"} 0.0' in metrics
