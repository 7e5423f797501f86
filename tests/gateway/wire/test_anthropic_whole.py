from __future__ import annotations

import orjson
import pytest

from techniques.core.json import JsonObject
from techniques.core.reply import Reply
from techniques.core.request import (
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from tests.gateway.wire.anthropic_calls import BARE, BLOCK, CALL, DIALECT, TRACED, USED


def test_a_whole_message_has_its_parts_as_blocks() -> None:
    """ANT-03."""
    parts = (
        Thinking("", "c2ln"),
        RedactedThinking("b3A="),
        Text("x"),
        Text(""),
        Opaque("anthropic", BLOCK),
        Opaque("openai_chat", {}),
        ToolCall("t1", "f", '{"x": 1}'),
    )
    reply = Reply(parts, "tool_calls", None, USED, id="msg_9", model="claude-example-1")
    message = orjson.loads(DIALECT.whole(CALL, reply, TRACED))

    assert message["content"] == [
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3A="},
        {"type": "text", "text": "x"},
        BLOCK,
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}},
    ]
    assert (message["id"], message["type"], message["role"]) == ("msg_9", "message", "assistant")
    assert message["model"] == "claude-example-1"
    assert message["usage"]["input_tokens"] == 31
    assert message["usage"]["lockgate"]["calls"] == 5


def test_a_whole_message_may_be_empty() -> None:
    """FLT-03."""
    message = orjson.loads(DIALECT.whole(CALL, Reply((), "content_filter"), BARE))

    assert (message["content"], message["stop_reason"]) == ([], "refusal")
    assert message["id"].startswith("msg_")
    assert message["usage"]["output_tokens"] == 3


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("", {}),
        ("{}", {}),
        ('{"x": "', {"INVALID_JSON": '{"x": "'}),
        ("[1]", {"INVALID_JSON": "[1]"}),
        ('{"x":' * 300 + "1" + "}" * 300, {"INVALID_JSON": '{"x":' * 300 + "1" + "}" * 300}),
    ],
)
def test_the_input_of_a_call_is_always_an_object(arguments: str, value: JsonObject) -> None:
    """TOOL-05."""
    reply = Reply((ToolCall("t1", "f", arguments),))

    assert orjson.loads(DIALECT.whole(CALL, reply, BARE))["content"][0]["input"] == value
