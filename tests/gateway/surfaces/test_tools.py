"""Quotas of tools, as agents meet them over HTTP."""

from __future__ import annotations

from time import monotonic
from typing import Any

import anyio
import orjson
import pytest

from bench.ports import free_port
from gateway.policy.keys import digest
from techniques.core.groups import task_group
from techniques.core.json import Json
from tests.gateway.surfaces.test_operations import Answer, Running, serving
from tests.patience import SOON_S
from tests.services.valkey import Valkey

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

ACQUIRE = "/v1/tools/get_weather/acquire"
ASKED: list[Json] = [{"role": "user", "content": "What is the weather in Paris?"}]
SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
ABOUT: Json = {"name": "get_weather", "description": "the weather of a city"}
BODIES: dict[str, dict[str, Json]] = {
    "/v1/chat/completions": {
        "model": "large",
        "messages": ASKED,
        "tools": [{"type": "function", "function": {**ABOUT, "parameters": SCHEMA}}],
    },
    "/v1/messages": {
        "model": "large",
        "max_tokens": 99,
        "messages": ASKED,
        "tools": [{**ABOUT, "input_schema": SCHEMA}],
    },
}
KEYS: list[Json] = [{"name": name, "hash": digest("s", name)} for name in ("one", "two")]
paths = pytest.mark.parametrize("path", BODIES)


def quota(action: str = "annotate", **tool: Json) -> dict[str, Any]:
    stated = {"calls": 1, "period": "1h", **tool}
    return {"tool_quota": {"action": action, "tools": {"get_weather": stated}}}


async def acquire(gateway: Running, key: str = "", **body: Json) -> Answer:
    headers = {"x-api-key": key} if key else {}
    return await gateway.ask(ACQUIRE, headers, body)


async def turn(gateway: Running, path: str, **fields: Json) -> Answer:
    return await gateway.ask(path, {}, {**BODIES[path], **fields})


async def test_a_use_is_granted_and_the_next_is_told_its_wait() -> None:
    async with serving(**quota()) as gateway:
        first = await acquire(gateway)
        second = await acquire(gateway)

    assert (first.status, first.json) == (
        200,
        {"tool": "get_weather", "granted": True, "limited": True, "wait_ms": 0, "left": 0},
    )
    told = second.json
    assert (second.status, told["granted"]) == (429, False)
    assert 3_590_000 < told["wait_ms"] <= 3_600_000
    assert told["error"]["code"] == "tool_quota_exhausted"
    assert second.headers["x-lockgate-eta-ms"] == str(told["wait_ms"])
    assert (second.headers["retry-after"], second.headers["x-should-retry"]) == ("60", "false")


async def test_an_acquire_may_wait_until_there_is_a_use() -> None:
    async with serving(**quota(period="300ms")) as gateway:
        began = monotonic()
        await acquire(gateway)
        granted = await acquire(gateway, wait_ms=50_000)
        took = monotonic() - began

    assert granted.json["granted"]
    assert 0.25 < took < SOON_S


async def test_a_tool_without_a_quota_is_always_granted() -> None:
    async with serving(**quota()) as gateway:
        granted = await gateway.ask("/v1/tools/other/acquire", {}, method="POST")

    assert granted.json == {"tool": "other", "granted": True, "limited": False, "wait_ms": 0}


@pytest.mark.parametrize(("per", "status"), [("key", 200), ("global", 429)])
async def test_keys_share_a_quota_only_if_it_is_for_all(per: str, status: int) -> None:
    async with serving(**quota(per=per), keys=KEYS) as gateway:
        stranger = await acquire(gateway)
        one = await acquire(gateway, "one")
        two = await acquire(gateway, "two")

    assert (stranger.status, one.status, two.status) == (401, 200, status)


async def test_replicas_that_share_a_store_count_together(valkey: Valkey) -> None:
    shared = {**quota(calls=3), "store": {"redis": valkey.url, "prefix": "tools"}}
    granted: list[bool] = []

    async def ask(gateway: Running) -> None:
        granted.append((await acquire(gateway)).json["granted"])

    async with serving(**shared) as one, serving(**shared) as two, task_group() as group:
        for gateway in (one, two) * 5:
            group.start_soon(ask, gateway)

    assert granted.count(True) == 3


async def test_a_lost_store_is_503_where_nothing_goes_on_without_it() -> None:
    store = {"redis": f"redis://127.0.0.1:{free_port()}", "on_loss": {"windows": "closed"}}
    async with serving(**quota("refuse_turn"), store=store) as gateway:
        refused = await acquire(gateway)
        answered = await turn(gateway, "/v1/chat/completions")

    assert (refused.status, refused.json["error"]["code"]) == (503, "store_lost")
    assert (answered.status, answered.json["error"]["code"]) == (503, "store_lost")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"wait_ms": 55_001}, "wait_ms"),
        ({"wait_ms": "soon"}, "wait_ms"),
        ({"person": "ana"}, "person"),
        ([], None),
    ],
)
async def test_a_wrong_body_is_refused_and_takes_no_use(body: Json, param: str | None) -> None:
    async with serving(**quota()) as gateway:
        wrong = await gateway.ask(ACQUIRE, {}, body)
        right = await acquire(gateway)

    assert (wrong.status, wrong.json["error"]["param"], right.status) == (400, param, 200)


async def test_a_client_that_leaves_while_it_waits_takes_no_use() -> None:
    sent: list[Json] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async with serving(**quota(period="400ms")) as gateway:
        await acquire(gateway)
        gone = anyio.Event()
        said = iter([{"type": "http.request", "body": b'{"wait_ms": 9000}', "more_body": False}])

        async def receive() -> Json:
            if (message := next(said, None)) is not None:
                return message
            await gone.wait()
            return {"type": "http.disconnect"}

        scope: dict[str, Json] = {"type": "http", "method": "POST", "path": ACQUIRE, "headers": []}
        scope |= {"query_string": b"", "root_path": "", "raw_path": ACQUIRE.encode()}
        async with task_group() as group:
            group.start_soon(gateway.app, scope, receive, send)
            await anyio.lowlevel.checkpoint()
            gone.set()
        waited = await acquire(gateway, wait_ms=2000)

    assert sent[0]["status"] == 499
    assert waited.json["granted"]


@paths
async def test_a_whole_answer_tells_of_its_calls_in_a_header(path: str) -> None:
    async with serving(**quota()) as gateway:
        first = await turn(gateway, path)
        second = await turn(gateway, path)

    assert first.headers["x-lockgate-tool-quota"] == "get_weather;counted;left=0"
    assert second.status == 200
    told, wait = second.headers["x-lockgate-tool-quota"].split("wait-ms=")
    assert told == "get_weather;over;"
    assert 3_500_000 < int(wait) <= 3_600_000  # as long as the window, if no millisecond has passed


@paths
async def test_a_stream_tells_of_its_calls_at_its_end(path: str) -> None:
    async with serving(**quota()) as gateway:
        await acquire(gateway)
        answer = await turn(gateway, path, stream=True)

    (comment,) = [
        line for line in answer.body.decode().splitlines() if line.startswith(": lockgate ")
    ]
    (called,) = orjson.loads(comment.removeprefix(": lockgate "))["tools"]
    assert (called["tool"], called["outcome"]) == ("get_weather", "over")
    assert "x-lockgate-tool-quota" not in answer.headers


@pytest.mark.parametrize(
    ("path", "stream"),
    [("/v1/chat/completions", False), ("/v1/messages", False), ("/v1/messages", True)],
)
async def test_a_refused_turn_is_an_error_of_its_own(path: str, *, stream: bool) -> None:
    async with serving(**quota("refuse_turn")) as gateway:
        served = await turn(gateway, path, stream=stream)
        refused = await turn(gateway, path, stream=stream)

    assert (served.status, refused.status) == (200, 429)
    assert b"its quota is used up" in refused.body
    assert refused.headers["x-should-retry"] == "false"
    assert refused.headers["x-lockgate-tool-quota"].startswith("get_weather;refused;wait-ms=")


async def test_a_stream_that_has_begun_ends_in_an_error_before_its_call() -> None:
    async with serving(**quota("refuse_turn")) as gateway:
        await acquire(gateway)
        refused = await turn(gateway, "/v1/chat/completions", stream=True)

    *_, last = (line for line in refused.body.decode().splitlines() if line)
    assert refused.status == 200
    assert orjson.loads(last.removeprefix("data: "))["error"]["code"] == "tool_quota_exhausted"
    assert b"tool_calls" not in refused.body
    assert b"[DONE]" not in refused.body


@paths
@pytest.mark.parametrize("stream", [False, True])
async def test_a_held_turn_comes_when_the_tool_may_be_used(path: str, *, stream: bool) -> None:
    async with serving(**quota("hold_result", period="400ms")) as gateway:
        began = monotonic()
        await acquire(gateway)
        answer = await turn(gateway, path, stream=stream)
        took = monotonic() - began

    assert answer.status == 200
    assert b"get_weather" in answer.body
    assert 0.2 < took < SOON_S


@paths
async def test_a_stream_that_is_held_for_a_tool_says_so(path: str) -> None:
    async with serving(**quota("hold_result", period="1400ms")) as gateway:
        await acquire(gateway)
        answer = await turn(gateway, path, stream=True)

    comments = [line for line in answer.body.decode().splitlines() if '"state":"held"' in line]
    (held,) = [orjson.loads(line.removeprefix(": lockgate ")) for line in comments]
    assert held["reason"] == "tool"
    assert 0 < held["eta_ms"] <= 1400


async def test_a_turn_that_offers_no_limited_tool_is_not_looked_at() -> None:
    async with serving(**quota("refuse_turn")) as gateway:
        await acquire(gateway)
        body = {"model": "large", "messages": ASKED}
        answer = await gateway.ask("/v1/chat/completions", {}, body)

    assert answer.status == 200
    assert "x-lockgate-tool-quota" not in answer.headers


async def test_calls_of_tools_are_counted_by_how_they_went() -> None:
    async with serving(**quota()) as gateway:
        await turn(gateway, "/v1/chat/completions")
        await turn(gateway, "/v1/messages")
        await acquire(gateway)
        metrics = (await gateway.ask("/metrics")).body.decode()

    for by, outcome in (("seen", "counted"), ("seen", "over"), ("acquired", "refused")):
        row = f'lockgate_tool_calls_total{{by="{by}",outcome="{outcome}",tool="get_weather"}} 1.0'
        assert row in metrics
