"""Legacy completions are metered and budgeted as conversations are."""

from __future__ import annotations

from decimal import Decimal

import pytest

from techniques.core.json import Json
from tests.conformance.replicas import at_once, secret, with_budget
from tests.conformance.stage import Stage
from tests.fakes.script import Answer, body, counts, done, frame, sse
from tests.fakes.upstream import Asked

PATH = "/v1/completions"
pytestmark = pytest.mark.gateway(
    {"upstream": {"retries": 0}, "keys": [with_budget("texts", "0.01"), with_budget("many", "1")]}
)


def answer(prompt: int, output: int) -> dict[str, Json]:
    choices = [{"text": " there", "index": 0, "logprobs": None, "finish_reason": "stop"}]
    told = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    return {**told, "choices": choices, "usage": counts(prompt, output)}


def test_a_stream_is_a_row_with_its_cost(stage: Stage) -> None:
    told = answer(100, 10)
    first = {name: value for name, value in told.items() if name != "usage"}
    stage.upstream.plays(sse(frame(first), frame({**told, "choices": []}), done()))

    with stage.open(PATH, {"model": "oa-model", "prompt": "hi", "stream": True}) as exchange:
        events = list(exchange.events())
        request_id = exchange.headers["x-lockgate-request-id"]

    assert [event.data for event in events][-1] == "[DONE]"
    (row,) = stage.rows(request_id)
    assert (row["role"], row["input_tokens"], row["output_tokens"]) == ("answer", 100, 10)
    assert Decimal(row["cost_usd"]) == Decimal("0.00045")


def test_a_budget_holds_for_any_number_at_once(stage: Stage) -> None:
    def well(_asked: Asked) -> Answer:
        return body(answer(0, 100)).later(0.3)

    stage.upstream.chooses(well)
    asked = {"model": "oa-model", "prompt": "hi", "max_tokens": 100}
    headers = {"authorization": f"Bearer {secret('texts')}"}

    answers = at_once(30, lambda _n: stage.post(PATH, asked, headers=headers))

    served = [answer for answer in answers if answer.status == 200]
    assert {answer.status for answer in answers} == {200, 402}
    assert len(served) == len(stage.upstream.asked) == 6


def test_all_texts_of_all_prompts_are_held_for(stage: Stage) -> None:
    asked = {"model": "oa-model", "prompt": ["hi"] * 10, "max_tokens": 1000, "n": 10}
    headers = {"authorization": f"Bearer {secret('many')}"}

    answer = stage.post(PATH, asked, headers=headers)

    assert (answer.status, answer.json["error"]["code"]) == (402, "budget_exhausted")
    assert stage.upstream.asked == []
