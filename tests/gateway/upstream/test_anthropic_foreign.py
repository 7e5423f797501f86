"""Reasoning of another maker in a conversation that goes on with a model of Anthropic's."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from gateway.upstream.providers.anthropic.count_tokens import count_tokens_call
from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay, Request
from techniques.core.signatures import marked
from tests.gateway.upstream.anthropic_samples import ANTHROPIC, TARGET

FOREIGN: JsonObject = {"type": "thinking", "thinking": "hm", "signature": marked("Z0FB")}
OWN: JsonObject = {"type": "thinking", "thinking": "", "signature": "c2ln"}
WORDS: JsonObject = {"type": "text", "text": "an openai_responses: in words is none"}
ASKED: JsonObject = {"role": "user", "content": "hi"}


def conversation(*blocks: Json) -> JsonObject:
    said = {"role": "assistant", "content": list(blocks)}
    return {"model": TARGET.model, "max_tokens": 9, "messages": [ASKED, said, ASKED]}


def relayed(body: JsonObject, *, bare: bool = False) -> Request:
    raw = None if bare else orjson.dumps(body, option=orjson.OPT_INDENT_2)
    return Request("m", relay=Relay("anthropic", raw, body, lambda: Request("m")))


@pytest.mark.parametrize("bare", [False, True])
def test_a_relayed_body_goes_out_without_it_and_with_all_else(bare: bool) -> None:  # noqa: FBT001
    body = conversation(FOREIGN, OWN, WORDS)
    call = ANTHROPIC.encode(relayed(body, bare=bare), TARGET)

    assert orjson.loads(call.body) == conversation(OWN, WORDS)
    assert [(one.code, one.detail) for one in call.warnings] == [("thinking_dropped", "messages")]
    assert body == conversation(FOREIGN, OWN, WORDS)


def test_a_turn_of_nothing_else_is_left_out() -> None:
    call = ANTHROPIC.encode(relayed(conversation(FOREIGN)), TARGET)

    assert orjson.loads(call.body)["messages"] == [ASKED, ASKED]


def test_a_body_whose_words_name_it_goes_out_as_it_came() -> None:
    request = relayed(conversation(OWN, WORDS))
    call = ANTHROPIC.encode(request, TARGET)

    assert request.relay is not None
    assert call.body == request.relay.raw
    assert call.warnings == ()


def test_a_strict_request_is_refused_that_would_lose_it() -> None:
    with pytest.raises(RequestRejected) as rejected:
        ANTHROPIC.encode(replace(relayed(conversation(FOREIGN, WORDS)), strict=True), TARGET)

    assert rejected.value.param == "messages"


def test_it_is_not_counted_either() -> None:
    request = relayed(conversation(FOREIGN, WORDS))
    assert request.relay is not None

    counted = orjson.loads(count_tokens_call(request.relay, TARGET).body)

    assert counted["messages"] == conversation(WORDS)["messages"]
