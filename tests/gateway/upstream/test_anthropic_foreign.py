"""Reasoning of another maker in a conversation that goes on with a model of Anthropic's."""

from __future__ import annotations

import json
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
UNSIGNED: list[JsonObject] = [
    {"type": "thinking", "thinking": "hm", "signature": ""},
    {"type": "thinking", "thinking": "hm", "signature": None},
    {"type": "thinking", "thinking": "hm"},
]
CALL: JsonObject = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
FOUND: JsonObject = {"type": "tool_result", "tool_use_id": "c1", "content": "so"}
BUDGET: JsonObject = {"type": "enabled", "budget_tokens": 1024}
WORDS: JsonObject = {"type": "text", "text": "an openai_responses: in words is none"}
ASKED: JsonObject = {"role": "user", "content": "hi"}


def conversation(*blocks: Json) -> JsonObject:
    said = {"role": "assistant", "content": list(blocks)}
    return {"model": TARGET.model, "max_tokens": 9, "messages": [ASKED, said, ASKED]}


def _none() -> Request:
    return Request("m")


def relayed(body: JsonObject, *, bare: bool = False) -> Request:
    raw = None if bare else orjson.dumps(body, option=orjson.OPT_INDENT_2)
    return Request("m", relay=Relay("anthropic", raw, body, lambda: Request("m")))


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,\n ", " :\n ")])
def test_it_is_found_however_the_client_spaces_its_json(separators: tuple[str, str]) -> None:
    body = conversation(UNSIGNED[0], WORDS)
    raw = json.dumps(body, separators=separators).encode()

    call = ANTHROPIC.encode(Request("m", relay=Relay("anthropic", raw, body, _none)), TARGET)

    assert orjson.loads(call.body) == conversation(WORDS)


@pytest.mark.parametrize("word", ['"thinking"', ': "thinking"', 'so:"thinking"', "thinking"])
def test_words_about_it_are_left_alone(word: str) -> None:
    body = {**conversation({"type": "text", "text": word}), "thinking": BUDGET}
    request = relayed(body)

    assert request.relay is not None
    assert ANTHROPIC.encode(request, TARGET).body == request.relay.raw


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("unsigned", UNSIGNED)
def test_what_nobody_signed_is_left_out_too(unsigned: JsonObject, bare: bool) -> None:  # noqa: FBT001
    call = ANTHROPIC.encode(relayed(conversation(unsigned, OWN, WORDS), bare=bare), TARGET)

    assert orjson.loads(call.body) == conversation(OWN, WORDS)
    assert [one.code for one in call.warnings] == ["thinking_dropped"]


def loop(*blocks: Json, **more: Json) -> JsonObject:
    called = {"role": "assistant", "content": [*blocks, CALL]}
    turns = [ASKED, called, {"role": "user", "content": [FOUND]}]
    return {"model": TARGET.model, "max_tokens": 2048, "messages": turns, **more}


@pytest.mark.parametrize("later", [[], [{"role": "system", "content": "Be brief."}]])
@pytest.mark.parametrize("block", [FOREIGN, *UNSIGNED])
def test_a_loop_whose_thinking_is_left_out_goes_on_without_any(
    block: JsonObject, later: list[Json]
) -> None:
    edits = [{"type": "clear_thinking_20251015"}, {"type": "clear_tool_uses_20250919"}]
    body = loop(block, thinking=BUDGET, context_management={"edits": edits})
    body["messages"] += later

    call = ANTHROPIC.encode(relayed(body), TARGET)

    sent = orjson.loads(call.body)
    assert sent["messages"][1]["content"] == [CALL]
    assert sent["thinking"] == {"type": "disabled"}
    assert sent["context_management"] == {"edits": edits[1:]}
    assert [one.code for one in call.warnings] == ["thinking_dropped", "thinking_off"]
    assert body["thinking"] == BUDGET
    assert body["context_management"]["edits"] == edits


@pytest.mark.parametrize(
    "body",
    [
        loop(FOREIGN, OWN, thinking=BUDGET),
        loop(FOREIGN, thinking={"type": "adaptive"}),
        loop(FOREIGN),
        {**conversation(FOREIGN, WORDS), "thinking": BUDGET},
        {**loop(FOREIGN, thinking=BUDGET), "messages": [7, *loop(FOREIGN)["messages"][1:2], 7]},
    ],
)
def test_who_may_still_think_does(body: JsonObject) -> None:
    call = ANTHROPIC.encode(relayed(body), TARGET)

    assert orjson.loads(call.body).get("thinking") == body.get("thinking")
    assert [one.code for one in call.warnings] == ["thinking_dropped"]


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


def test_a_loop_is_counted_as_it_is_sent() -> None:
    request = relayed(loop(FOREIGN, thinking=BUDGET))
    assert request.relay is not None

    counted = orjson.loads(count_tokens_call(request.relay, TARGET).body)

    assert counted["messages"] == loop()["messages"]
    assert counted["thinking"] == {"type": "disabled"}
