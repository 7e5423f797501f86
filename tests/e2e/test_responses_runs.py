"""Runs of the Responses surface: they go on where they stood, whole and streamed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from openai.types.responses import Response

from techniques.core.json import Json
from tests.e2e.test_runs import gateways, upstream
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS, Gateway
from tests.fakes.script import completion, dumps
from tests.fakes.upstream import ScriptedUpstream

__all__ = ["upstream"]

PATH = "/v1/responses"
DRAWS: Json = {"technique": "self_consistency", "params": {"num_samples": 3, "stop": "exact"}}


def post(gateway: Gateway, headers: dict[str, str] | None = None, **fields: Any) -> Reply:
    body = {"model": "oa-model", "input": "What is 6 * 7?", **fields}
    said = {"authorization": f"Bearer {KEYS['k1']}", **(headers or {})}
    return Exchange(gateway.port, request(PATH, dumps(body), said)).whole()


def response_in(answer: Reply) -> Json:
    """Return the response of an answer, whole or the last event of a stream."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        return orjson.loads(answer.body.rsplit(b"data: ", 1)[1])["response"]
    return answer.json


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_a_run_that_is_asked_for_again_is_told_and_not_made_again(
    upstream: ScriptedUpstream, tmp_path: Path, *, streamed: bool
) -> None:
    upstream.chooses(lambda _asked: completion("The answer is 42."))
    fields: Json = {"reliability": DRAWS, "stream": streamed}
    with gateways(tmp_path, upstream) as (gateway,):
        first = post(gateway, {"idempotency-key": "task"}, **fields)
        calls = len(upstream.asked)
        second = post(gateway, {"idempotency-key": "task"}, **fields)
        shown = gateway.get(f"/v1/runs/{first.headers['x-lockgate-run']}", KEYS["k1"])

    one, other = response_in(first), response_in(second)
    Response.model_validate(other)
    assert calls == len(upstream.asked) > 1
    assert one["output"][0]["content"][0]["text"] == "The answer is 42."
    assert one["output"][0]["content"] == other["output"][0]["content"]
    assert one["usage"]["input_tokens"] == other["usage"]["input_tokens"]
    assert shown.json["state"] == "completed"
    Response.model_validate(shown.json["answer"])
    assert shown.json["answer"]["output"][0]["content"] == one["output"][0]["content"]


def test_a_run_that_nobody_waits_for_is_answered_with_202(
    upstream: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream.chooses(lambda _asked: completion("The answer is 42."))
    with gateways(tmp_path, upstream) as (gateway,):
        accepted = post(gateway, {"prefer": "respond-async"}, reliability=DRAWS)
        assert (accepted.status, accepted.json["object"]) == (202, "run")
        again = {"idempotency-key": accepted.json["id"]}
        answer = post(gateway, again, reliability=DRAWS)

    assert response_in(answer)["output"][0]["content"][0]["text"] == "The answer is 42."
