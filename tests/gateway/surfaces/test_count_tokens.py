"""Counts that the provider makes; guesses are tried with the other paths."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import anyio
import orjson
import pytest
from starlette.requests import Request
from starlette.responses import Response
from structlog.testing import capture_logs

from gateway.app import MESSAGES
from gateway.channels.retrying import RetryPolicy
from gateway.metering.ledger import CallFinished, Fact, RequestBegun, RequestFinished
from gateway.pipeline import Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.policy.keys import OpenDoor
from gateway.policy.models import Catalogue, Model
from gateway.surfaces.completion import Front
from gateway.surfaces.count_tokens import CountTokensEndpoint
from gateway.surfaces.counters import SPOKEN
from gateway.surfaces.spoken import RESPONSES
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from gateway.wire.dialect import Dialect
from techniques.core.errors import GatewayError
from techniques.core.json import Json
from tests.gateway.surfaces.scene import DIALECTS, Played, Upstream

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
ASKED = {
    "model": "claude-x",
    "max_tokens": 5,
    "messages": [{"role": "user", "content": "hi"}],
}


def told(body: Json, status: int = 200) -> Upstream:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return Upstream([Played((raw[:5], raw[5:]), status, {"content-type": "application/json"})])


async def counted(
    upstream: Upstream,
    body: Json = ASKED,
    facts: list[Fact] | None = None,
    dialect: Dialect = MESSAGES,
    **headers: str,
) -> Response:
    """Ask for a count of *body*; what is written down goes to *facts*."""
    told: list[Fact] = [] if facts is None else facts
    target = Target("claude-*", "an", "claude-*")
    channel = HttpChannel(upstream, DIALECTS["anthropic"], target, Patience(1, 1))
    planner = Planner(Catalogue([Model(channel)]), {}, Defaults())
    front = Front(OpenDoor(), Pipeline(planner, RetryPolicy()), (told.append,), 10_000, 15)
    raw = body if isinstance(body, bytes) else orjson.dumps(body)

    async def receive() -> Any:
        return {"type": "http.request", "body": raw, "more_body": False}

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "headers": pairs}, receive)
    return await CountTokensEndpoint(front, dialect).serve(request)


async def test_the_providers_own_count_is_given() -> None:
    upstream = told({"input_tokens": 2095})

    answer = await counted(upstream, anthropic_beta="b", x_api_key="the client's own")

    assert (answer.status_code, orjson.loads(answer.body)) == (200, {"input_tokens": 2095})
    assert answer.headers["x-lockgate-count-source"] == "provider"
    (call,) = upstream.calls
    assert call.path.endswith("/messages/count_tokens")
    assert orjson.loads(call.body) == {"model": "claude-x", "messages": ASKED["messages"]}
    assert call.headers["anthropic-beta"] == "b"
    assert "x-api-key" not in call.headers
    assert upstream.given[0].closed


async def test_a_refusal_is_the_providers() -> None:
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    upstream = told(error, 429)

    answer = await counted(upstream)

    assert answer.status_code == 429
    assert orjson.loads(answer.body)["error"]["type"] == "rate_limit_error"
    assert upstream.given[0].closed


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, {"detail": "Not Found"}), (404, b"<html>no</html>"), (405, b""), (501, {"error": "no"})],
)
async def test_a_host_that_has_no_counts_is_done_without(status: int, body: Json) -> None:
    answer = await counted(told(body, status))

    assert answer.status_code == 200
    assert answer.headers["x-lockgate-count-source"] == "estimate"
    assert 1 <= orjson.loads(answer.body)["input_tokens"] < 20


async def test_a_model_that_a_host_does_not_have_is_not_guessed_about() -> None:
    error = {"type": "error", "error": {"type": "not_found_error", "message": "model: claude-x"}}

    assert (await counted(told(error, 404))).status_code == 404


@pytest.mark.parametrize("body", [b"<html>", {"tokens": 5}, [5]])
async def test_a_count_that_cannot_be_read_is_no_count(body: Json) -> None:
    answer = await counted(told(body))

    assert answer.status_code == 502


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), ({**ASKED, "model": "nope"}, 404), (b"x" * 10_001, 413)],
)
async def test_what_is_wrong_is_refused_before_anything_is_sent(body: Json, status: int) -> None:
    upstream = Upstream([])

    answer = await counted(upstream, body)

    assert answer.status_code == status
    assert orjson.loads(answer.body)["type"] == "error"
    assert upstream.calls == []


@pytest.mark.parametrize(
    ("upstream", "row", "outcome", "code"),
    [
        (told({"input_tokens": 5}), "ok", "success", None),
        (
            told({"error": {"message": "slow"}}, 429),
            "rate_limited",
            "upstream_error",
            "rate_limited",
        ),
        (told([5]), "invalid_answer", "upstream_error", "invalid_answer"),
    ],
)
async def test_the_call_for_a_count_is_a_row_that_costs_nothing(
    upstream: Upstream, row: str, outcome: str, code: str | None
) -> None:
    facts: list[Fact] = []

    answer = await counted(upstream, facts=facts)

    begun, call, finished = facts
    assert isinstance(begun, RequestBegun)
    assert isinstance(call, CallFinished)
    assert isinstance(finished, RequestFinished)
    assert (call.role, call.outcome, call.cost, call.model) == ("count", row, 0, "claude-*")
    assert (finished.outcome, finished.code) == (outcome, code)
    assert (finished.model, finished.provider, finished.rows) == ("claude-*", "an", (call,))
    assert answer.headers["x-lockgate-request-id"] == finished.request_id
    assert answer.headers["request-id"] == finished.request_id


async def test_a_count_that_is_cut_off_is_told_so() -> None:
    facts: list[Fact] = []
    upstream = Upstream([Played((60.0,))])

    async def cut() -> Response:
        return await counted(upstream, facts=facts)

    task = asyncio.create_task(cut())
    while not upstream.given:
        await anyio.lowlevel.checkpoint()
    task.cancel()
    answer = await task

    finished = facts[-1]
    assert isinstance(finished, RequestFinished)
    assert (answer.status_code, finished.outcome, finished.status) == (503, "unavailable", 503)
    assert upstream.given[0].closed


@pytest.mark.parametrize("dialect", [MESSAGES, RESPONSES], ids=lambda one: one.name)
@pytest.mark.parametrize("place", ["decode", "encode"])
async def test_a_bug_costs_its_count_a_500_in_its_dialect_and_nothing_of_it_is_told(
    dialect: Dialect, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> NoReturn:
        raise ZeroDivisionError("secret detail")

    facts: list[Fact] = []
    broken = {**SPOKEN, dialect.name: SPOKEN[dialect.name]._replace(**{place: fails})}
    monkeypatch.setattr("gateway.surfaces.count_tokens.SPOKEN", broken)
    body = {"model": "claude-x", "input": "hi"} if dialect is RESPONSES else ASKED

    with capture_logs() as logged:
        answer = await counted(told({"input_tokens": 5}), body, facts, dialect)

    assert [line["event"] for line in logged] == ["request.bug"]
    failure = dialect.failure(GatewayError("The gateway has failed.", code="internal_error"))
    failure = failure.named(answer.headers["x-lockgate-request-id"])
    assert (answer.status_code, answer.body) == (500, failure.body)
    assert answer.headers["content-type"] == "application/json"
    finished = facts[-1]
    assert isinstance(finished, RequestFinished)
    assert (finished.outcome, finished.status) == ("internal_error", 500)
    assert (finished.code, logged[0]["request_id"]) == ("internal_error", finished.request_id)
