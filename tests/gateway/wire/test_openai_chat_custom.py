"""Tools whose input is free text, to clients of chat completions."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.dialect import Call, Summary
from gateway.wire.openai_chat import OpenAIChat
from pricing.usage import Usage
from techniques.core.errors import RequestRejected
from techniques.core.events import (
    Event,
    Finished,
    TextDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from techniques.core.free_form import is_free_form
from techniques.core.json import JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Tool, ToolCall, ToolChoice
from tests.gateway.upstream.openai_chat_calls import written

RUN: JsonObject = {"type": "custom", "custom": {"name": "run", "description": "Runs."}}
LOOK: JsonObject = {"type": "function", "function": {"name": "look"}}
GRAMMAR: JsonObject = {"syntax": "lark", "definition": "start: /a+/"}
QUIET = Summary(Usage(10, 5), 1, "0.1", "operator")


def call(**fields: Any) -> Call:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields}
    return OpenAIChat().decode(body, orjson.dumps(body))


def streamed(*events: Event) -> list[Any]:
    """Return the calls in the deltas of a stream to a client that offers both tools."""
    encoder = OpenAIChat().encoder(call(tools=[RUN, LOOK], stream=True), "r1", "m")
    lines = b"".join(map(encoder.feed, events)).split(b"\n\n")
    chunks = [orjson.loads(line.removeprefix(b"data: ")) for line in lines if line]
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    return [made for delta in deltas for made in delta.get("tool_calls", ())]


def test_a_tool_of_free_text_is_one_inside() -> None:
    form = {"type": "grammar", "grammar": GRAMMAR}
    bound = {"type": "custom", "custom": {"name": "bound", "format": form}}

    run, bounded = call(tools=[RUN, bound]).relay.decode().tools

    assert isinstance(run, Tool)
    assert isinstance(bounded, Tool)
    assert (run.name, run.description, run.extra) == ("run", "Runs.", {"type": "custom"})
    assert bounded.extra == {"type": "custom", "format": {"type": "grammar", **GRAMMAR}}
    assert "start: /a+/" in str(bounded.parameters)


def test_it_can_be_named_and_its_calls_come_back() -> None:
    made = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls -l\n"}}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "a"},
    ]
    named = {"type": "custom", "custom": {"name": "run"}}

    request = call(tools=[RUN], messages=turns, tool_choice=named).relay.decode()

    assert request.tool_choice == ToolChoice("named", "run")
    (back,) = request.messages[1].parts
    assert isinstance(back, ToolCall)
    assert (back.id, back.name, orjson.loads(back.arguments)) == ("c1", "run", {"input": "ls -l\n"})
    assert is_free_form(back.extra)


@pytest.mark.parametrize(
    ("own", "param"),
    [
        ({"name": 3}, "tools[0].custom.name"),
        ({"name": "run", "description": 3}, "tools[0].custom.description"),
        ({"name": "run", "format": 3}, "tools[0].custom.format"),
    ],
)
def test_what_is_wrong_of_it_is_named(own: JsonObject, param: str) -> None:
    with pytest.raises(RequestRejected) as caught:
        call(tools=[{"type": "custom", "custom": own}]).relay.decode()
    assert caught.value.param == param


def test_a_whole_answer_has_its_input_as_text() -> None:
    calls = (ToolCall("c1", "run", '{"input":"ls"}'), ToolCall("c2", "look", '{"q":1}'))
    asked = call(tools=[RUN, LOOK])

    body = orjson.loads(OpenAIChat().whole(asked, Reply(calls, finish_reason="tool_calls"), QUIET))

    assert body["choices"][0]["message"]["tool_calls"] == [
        {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls"}},
        {"id": "c2", "type": "function", "function": {"name": "look", "arguments": '{"q":1}'}},
    ]


def test_a_stream_has_its_input_at_once_also_where_calls_are_mixed() -> None:
    began: JsonObject = {"type": "custom", "custom": {"name": "run", "input": ""}}

    made = streamed(
        ToolCallStarted(0, "c1", "run"),
        ToolCallDelta(0, '{"inp'),
        ToolCallDelta(0, 'ut":"ls'),
        ToolCallStarted(1, "c2", "run"),
        ToolCallDelta(0, ' -l"}'),
        ToolCallDelta(1, '{"input":""}'),
        ToolCallStarted(2, "c3", "look"),
        ToolCallDelta(2, "{}"),
        Finished("tool_calls"),
    )

    of = [[one for one in made if one["index"] == index] for index in range(3)]
    assert of[0] == [{"index": 0, "id": "c1", **began}, {"index": 0, "custom": {"input": "ls -l"}}]
    assert of[1] == [{"index": 1, "id": "c2", **began}, {"index": 1, "custom": {"input": ""}}]
    assert of[2][0]["function"] == {"name": "look", "arguments": ""}


def test_an_input_that_is_no_text_of_one_stays_as_it_is() -> None:
    made = streamed(ToolCallStarted(0, "c1", "run"), TextDelta("x"), Finished("tool_calls"))

    assert made[-1] == {"index": 0, "custom": {"input": ""}}


def test_a_technique_asks_a_provider_of_this_api_for_a_function() -> None:
    request = call(tools=[RUN], tool_choice={"type": "custom", "custom": {"name": "run"}})

    sent, made = written(request.relay.decode())

    assert sent["tools"][0]["function"]["name"] == "run"
    assert sent["tools"][0].keys() == {"type", "function"}
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "run"}}
    assert [warned.code for warned in made.warnings] == ["custom_tool_as_function"]
