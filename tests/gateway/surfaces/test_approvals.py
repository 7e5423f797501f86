"""Agents ask people and people decide, over HTTP, with and without a database; A-74."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any

import anyio
import pytest

from gateway.policy.keys import digest
from techniques.core.groups import task_group
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import Answer, Running, serving
from tests.patience import SOON_S

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

APP = {"x-api-key": "app-key"}
OTHER = {"x-api-key": "other-key"}
ANA = {"authorization": "Bearer ana-token"}
BEN = {"authorization": "Bearer ben-token"}
KEYS: list[Json] = [{"name": n, "hash": digest("s", f"{n}-key")} for n in ("app", "other")]
PERSONS: list[Json] = [{"name": n, "hash": digest("s", f"{n}-token")} for n in ("ana", "ben")]


def staffed(url: str = "none", **attention: Json) -> dict[str, Any]:
    stated = {"persons": PERSONS, **attention}
    return {"attention": stated, "keys": KEYS, "database": {"url": url}}


async def asked(gateway: Running, headers: Mapping[str, str] = APP, **fields: Json) -> Json:
    body = {"person": "ana", "question": "Deploy?", **fields}
    answer = await gateway.ask("/v1/approvals", headers, body)
    assert answer.status == 201, answer.body
    return answer.json


async def decide(
    gateway: Running,
    made: Json,
    headers: Mapping[str, str] = ANA,
    how: str = "approve",
    **said: Json,
) -> Answer:
    return await gateway.ask(f"/v1/approvals/{made['id']}/{how}", headers, said, "POST")


async def listed(gateway: Running, headers: Mapping[str, str], query: str = "") -> list[Json]:
    answer = await gateway.ask(f"/v1/approvals{query}", headers)
    found: list[Json] = answer.json["approvals"]
    return found


async def test_a_question_is_asked_seen_and_decided_by_the_person(database_url: str) -> None:
    async with serving(**staffed(database_url)) as gateway:
        made = await asked(gateway, kind="spend", options=["10", "50"], detail="for the survey")
        (seen,) = await listed(gateway, ANA)
        answer = await decide(gateway, made, option="50", note="not more")
        found = (await gateway.ask(f"/v1/approvals/{made['id']}", APP)).json

    assert (made["state"], made["asked_by"], made["verdict"]) == (
        "pending",
        "app",
        {"ask": "go", "until": None},
    )
    assert (seen["id"], seen["detail"]) == (made["id"], "for the survey")
    assert answer.status == 200
    assert (found["state"], found["decided_by"]) == ("approved", "ana")
    assert (found["option"], found["note"]) == ("50", "not more")


@pytest.mark.parametrize(
    ("headers", "status"),
    [(APP, 403), (OTHER, 403), ({}, 401), ({"x-api-key": "wrong"}, 401), (BEN, 404)],
)
async def test_nobody_decides_but_the_person_who_is_asked(
    headers: dict[str, str], status: int
) -> None:
    async with serving(**staffed()) as gateway:
        made = await asked(gateway)
        answers = [await decide(gateway, made, headers, how) for how in ("approve", "reject")]
        found = (await gateway.ask(f"/v1/approvals/{made['id']}", APP)).json

    assert [answer.status for answer in answers] == [status, status]
    assert found["state"] == "pending"


@pytest.mark.parametrize("claim", ["person", "by", "decided_by", "reviewer"])
async def test_who_decides_is_never_taken_from_the_body(claim: str) -> None:
    async with serving(**staffed()) as gateway:
        made = await asked(gateway)
        as_key = await decide(gateway, made, APP, "approve", **{claim: "ana"})
        as_ana = await decide(gateway, made, ANA, "approve", **{claim: "ana"})

    assert (as_key.status, as_ana.status) == (403, 400)
    assert as_ana.json["error"]["param"] == claim


async def test_in_an_open_gateway_a_person_needs_their_token_too() -> None:
    async with serving(attention={"persons": PERSONS}) as gateway:
        made = await asked(gateway, {})
        refused = await decide(gateway, made, {})
        decided = await decide(gateway, made, ANA)

    assert (made["asked_by"], refused.status, decided.status) == (None, 403, 200)


async def test_a_token_of_a_person_is_no_key() -> None:
    async with serving(**staffed()) as gateway:
        chat = await gateway.ask("/v1/chat/completions", ANA, {"model": "small", "messages": []})
        question = await gateway.ask("/v1/approvals", ANA, {"person": "ben", "question": "?"})

    assert (chat.status, question.status) == (401, 403)


async def test_identical_questions_are_asked_once_and_answered_together(database_url: str) -> None:
    async with serving(**staffed(database_url)) as gateway:
        made = [await asked(gateway) for _ in range(4)]
        seen = await listed(gateway, ANA)
        left = (await gateway.ask("/v1/attention", ANA)).json["left"]
        await decide(gateway, made[2], ANA, "reject")
        states = [it["state"] for it in await listed(gateway, APP, "?state=all")]

    assert len({it["id"] for it in made}) == 4
    assert (len(seen), left, states) == (1, 2, ["rejected"] * 4)


async def test_questions_beyond_the_meter_wait_and_say_until_when(database_url: str) -> None:
    async with serving(**staffed(database_url, asks=2, period="1h")) as gateway:
        made = [await asked(gateway, question=f"{number}?") for number in range(3)]
        (attention, strangers) = [
            await gateway.ask("/v1/attention/ana", headers) for headers in (APP, {})
        ]

    assert [it["verdict"]["ask"] for it in made] == ["go", "go", "hold"]
    assert made[2]["asked_at"] is None
    assert made[2]["verdict"]["until"].endswith("Z")
    assert (attention.json["ask"], attention.json["left"]) == ("hold", 0)
    assert strangers.status == 401


async def test_a_meter_that_was_used_up_is_so_after_a_restart(database_url: str) -> None:
    for verdict in ("go", "hold"):
        async with serving(**staffed(database_url, asks=1)) as gateway:
            made = await asked(gateway, question=f"{verdict}?")
            assert made["verdict"]["ask"] == verdict


async def test_what_waits_comes_in_a_digest_when_there_is_time_again() -> None:
    async with serving(**staffed(asks=1, period="700ms")) as gateway:
        for question in ("a?", "b?", "c?"):
            await asked(gateway, question=question)
        await decide(gateway, (await listed(gateway, ANA))[-1])
        seen = await listed(gateway, ANA, "?wait_ms=5000")

    assert {it["question"] for it in seen} == {"b?", "c?"}
    assert len({it["asked_at"] for it in seen}) == 1


async def test_away_and_available_are_said_by_the_person_alone(database_url: str) -> None:
    async with serving(**staffed(database_url)) as gateway:
        refused = await gateway.ask("/v1/attention/away", APP, {}, "POST")
        away = await gateway.ask("/v1/attention/away", ANA, {}, "POST")
        waits = await asked(gateway)
        until = {"until": "2999-01-01T00:00:00+01:00"}
        longer = await gateway.ask("/v1/attention/away", ANA, until)
        past = await gateway.ask("/v1/attention/away", ANA, {"until": "2001-01-01T00:00:00Z"})
        back = await gateway.ask("/v1/attention/available", ANA, {}, "POST")
        (seen,) = await listed(gateway, ANA, "?wait_ms=5000")

    assert refused.status == 403
    assert away.json == {"person": "ana", "ask": "suspend", "until": None, "left": 0}
    assert waits["verdict"]["ask"] == "suspend"
    assert longer.json["until"] == "2998-12-31T23:00:00Z"
    assert (past.status, past.json["error"]["param"]) == (400, "until")
    assert back.json["ask"] == "go"
    assert seen["asked_at"] is not None


async def test_who_waits_for_a_decision_is_told_when_it_is_made(database_url: str) -> None:
    answers: list[Answer] = []
    async with serving(**staffed(database_url)) as gateway:
        made = await asked(gateway)

        async def wait() -> None:
            path = f"/v1/approvals/{made['id']}?wait_ms=50000"
            answers.append(await gateway.ask(path, APP))

        began = monotonic()
        async with task_group() as group:
            group.start_soon(wait)
            await anyio.sleep(0.2)
            await decide(gateway, made)
        took = monotonic() - began

    assert answers[0].json["state"] == "approved"
    assert took < SOON_S


async def test_two_replicas_share_questions_decisions_and_asks(database_url: str) -> None:
    async with (
        serving(**staffed(database_url, asks=1)) as one,
        serving(**staffed(database_url, asks=1)) as two,
    ):
        made = await asked(one)
        other = await asked(two, question="And?")
        await decide(two, made)
        found = await one.ask(f"/v1/approvals/{made['id']}?wait_ms=5000", APP)

    assert (made["verdict"]["ask"], other["verdict"]["ask"]) == ("go", "hold")
    assert found.json["state"] == "approved"


async def test_a_question_can_be_taken_back_and_ends_once() -> None:
    async with serving(**staffed()) as gateway:
        made = await asked(gateway)
        strange = await decide(gateway, made, OTHER, "withdraw")
        gone = await decide(gateway, made, APP, "withdraw")
        late = await decide(gateway, made)

    assert (strange.status, gone.json["state"]) == (404, "withdrawn")
    assert (late.status, late.json["error"]["message"]) == (409, "It is withdrawn already.")
    assert late.headers["x-should-retry"] == "false"


async def test_a_question_is_nobody_elses_business() -> None:
    async with serving(**staffed()) as gateway:
        made = await asked(gateway)
        path = f"/v1/approvals/{made['id']}"
        statuses = [(await gateway.ask(path, who)).status for who in (APP, ANA, OTHER, BEN, {})]
        lists = [len(await listed(gateway, who)) for who in (APP, ANA, OTHER, BEN)]

    assert statuses == [200, 200, 404, 404, 401]
    assert lists == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"person": "bob"}, "person"),
        ({"kind": "whim"}, "kind"),
        ({"question": ""}, "question"),
        ({"urgency": "asap"}, "urgency"),
        ({"expires_s": 0}, "expires_s"),
        ({"options": ["x"] * 21}, "options"),
        ({"asked_by": "boss"}, "asked_by"),
    ],
)
async def test_a_wrong_question_is_refused(fields: dict[str, Json], param: str) -> None:
    async with serving(**staffed()) as gateway:
        body = {"person": "ana", "question": "Deploy?", **fields}
        answer = await gateway.ask("/v1/approvals", APP, body)

    assert (answer.status, answer.json["error"]["param"]) == (400, param)


WRONG = [
    "?state=open",
    "?limit=0",
    "?limit=x",
    "?limit=00000000100000",
    "?wait_ms=55001",
    "?wait_ms=00000000199999",
    "?wait_ms=000000001" + "9" * 5000,
]


@pytest.mark.parametrize("query", WRONG)
async def test_a_wrong_query_is_refused(query: str) -> None:
    async with serving(**staffed()) as gateway:
        answer = await gateway.ask(f"/v1/approvals{query}", APP)

    assert answer.status == 400


async def test_without_persons_there_is_nobody_to_ask() -> None:
    async with serving() as gateway:
        answer = await gateway.ask("/v1/approvals", {}, {"person": "ana", "question": "?"})

    assert answer.status == 404
    assert "attention.persons" in answer.json["error"]["message"]


async def test_a_gateway_that_stops_takes_no_more_questions() -> None:
    async with serving(**staffed()) as gateway:
        assert gateway.app.gate is not None
        gateway.app.gate.closing = True
        answer = await gateway.ask("/v1/approvals", APP)

    assert answer.status == 503


async def test_questions_are_counted_by_how_they_ended() -> None:
    async with serving(**staffed()) as gateway:
        made = [await asked(gateway, question=f"{n}?") for n in range(3)]
        await decide(gateway, made[0])
        await decide(gateway, made[1], ANA, "reject")
        await decide(gateway, made[2], APP, "withdraw")
        metrics = (await gateway.ask("/metrics")).body.decode()

    for state, count in (("pending", 3), ("approved", 1), ("rejected", 1), ("withdrawn", 1)):
        row = f'lockgate_approvals_total{{kind="question",state="{state}"}} {count}.0'
        assert row in metrics
    assert 'lockgate_asks_total{form="single"} 3.0' in metrics
