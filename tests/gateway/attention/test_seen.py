"""Tool calls are found in events, and in bytes of either dialect that are only passed on."""

from __future__ import annotations

import orjson
import pytest

from gateway.attention.seen import Call, Seen, offered
from techniques.core.events import Choice, Event, Finished, Relayed, TextDelta, ToolCallStarted
from techniques.core.json import Json
from tests.fakes import script

SEARCH = Call("search", "call_9Kx2")
CHAT_CALL: Json = {"id": "call_9Kx2", "type": "function", "function": {"name": "search"}}


def seen(events: list[Event], *, streamed: bool = True) -> list[Call]:
    reader = Seen(streamed=streamed)
    return [call for event in events for call in reader.feed(event)]


def test_calls_that_are_events_are_seen_in_every_choice() -> None:
    started = ToolCallStarted(0, "call_9Kx2", "search")

    found = seen([TextDelta("search"), started, Choice(1, started), Finished("tool_calls")])

    assert found == [SEARCH, SEARCH]


def test_a_relayed_chat_stream_tells_each_call_once() -> None:
    pieces = (
        script.begin(),
        script.text("use a tool"),
        script.call_delta({"index": 0, **CHAT_CALL}),
        script.call_delta({"index": 0, "function": {"arguments": '{"q":"tool"}'}}),
        script.finish("tool_calls"),
    )

    assert seen([Relayed(piece) for piece in pieces]) == [SEARCH]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_relayed_stream_may_be_cut_anywhere(size: int) -> None:
    raw = script.begin() + script.call_delta({"index": 0, **CHAT_CALL})

    found = seen([Relayed(raw[at : at + size]) for at in range(0, len(raw), size)])

    assert found == [SEARCH]


def test_a_relayed_messages_stream_tells_its_calls() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}}
    raw = script.event("content_block_start", index=0, content_block=block)

    assert seen([Relayed(raw)]) == [Call("search", "toolu_1")]


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"tool_calls": [CHAT_CALL]}}]},
        {"content": [{"type": "text"}, {"type": "tool_use", "id": "call_9Kx2", "name": "search"}]},
        {"output": [{"type": "function_call", "call_id": "call_9Kx2", "name": "search"}]},
        {
            "choices": [
                {"message": {"tool_calls": [{"id": "call_9Kx2", "custom": {"name": "search"}}]}}
            ]
        },
    ],
)
def test_a_relayed_whole_answer_tells_its_calls_at_its_end(body: Json) -> None:
    raw = orjson.dumps(body)

    assert seen([Relayed(raw[:20]), Relayed(raw[20:])], streamed=False) == []
    assert seen([Relayed(raw[:20]), Relayed(raw[20:]), Finished()], streamed=False) == [SEARCH]


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_relayed_stream_of_items_tells_each_call_once(kind: str) -> None:
    item = {"type": kind, "id": "fc_1", "call_id": "call_9Kx2", "name": "search"}
    message = {"type": "message", "id": "msg_1", "name": "tool"}
    events = (
        script.event("response.output_item.added", item=message),
        script.event("response.output_item.added", item=item),
        script.event("response.output_item.done", item=item),
    )

    assert seen([Relayed(event) for event in events]) == [SEARCH]


def test_the_old_form_of_a_call_has_no_id() -> None:
    raw = script.chunk({"function_call": {"name": "search", "arguments": ""}})

    assert seen([Relayed(raw)]) == [Call("search", "")]


@pytest.mark.parametrize(
    "raw",
    [
        b"data: tool {\n\n",
        b'data: {"choices": {"tool": 1}}\n\n',
        b'data: {"choices": [{"delta": {"tool_calls": [1, {"function": 2}]}}]}\n\n',
        b'data: {"content_block": {"type": "tool_use", "name": 7}}\n\n',
    ],
)
def test_what_is_no_call_is_none(raw: bytes) -> None:
    assert seen([Relayed(raw), Finished()]) == []


def test_the_tools_that_are_offered_are_known_in_every_form() -> None:
    body: dict[str, Json] = {
        "tools": [
            {"type": "function", "function": {"name": "a"}},
            {"type": "custom", "custom": {"name": "b"}},
            {"name": "c", "input_schema": {}},
            {"type": "function", "name": "e", "parameters": {}},
            {"type": "web_search"},
            None,
        ],
        "functions": [{"name": "d"}],
    }

    assert list(offered(body)) == ["a", "b", "c", "e", "d"]
    assert list(offered({"tools": "none"})) == []
