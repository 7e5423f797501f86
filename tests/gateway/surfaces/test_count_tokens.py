"""Counts that the provider makes; guesses are tried with the other paths."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from starlette.requests import Request
from starlette.responses import Response

from gateway.app import MESSAGES
from gateway.channels.retrying import RetryPolicy
from gateway.pipeline import Pipeline
from gateway.planning.plan import Defaults, Planner
from gateway.policy.keys import OpenDoor
from gateway.policy.models import Catalogue, Model
from gateway.surfaces.completion import Front
from gateway.surfaces.count_tokens import CountTokensEndpoint
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.provider import Target
from router_service.engine import Engine
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


async def counted(upstream: Upstream, body: Json = ASKED, **headers: str) -> Response:
    """Ask for a count of *body*."""
    target = Target("claude-*", "an", "claude-*")
    channel = HttpChannel(upstream, DIALECTS["anthropic"], target, Patience(1, 1))
    planner = Planner(Catalogue([Model(channel)]), {}, Defaults(), Engine("fixed"))
    front = Front(OpenDoor(), Pipeline(planner, RetryPolicy()), (), 10_000, 15)
    raw = body if isinstance(body, bytes) else orjson.dumps(body)

    async def receive() -> Any:
        return {"type": "http.request", "body": raw, "more_body": False}

    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    request = Request({"type": "http", "method": "POST", "headers": pairs}, receive)
    return await CountTokensEndpoint(front, MESSAGES).serve(request)


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
