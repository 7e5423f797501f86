from __future__ import annotations

import orjson
import pytest

from gateway.wire.anthropic.count_tokens import decode, encode_count, estimate
from techniques.core.errors import RequestRejected
from techniques.core.request import (
    Document,
    Image,
    Message,
    Part,
    Request,
    ResponseFormat,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    said,
)


def one(part: Part) -> int:
    return estimate(Request("m", (Message("user", (part,)),)))


def test_a_count_is_asked_for_without_a_limit() -> None:
    body = {"model": "an-model", "messages": [{"role": "user", "content": "hi"}]}
    call = decode(body, orjson.dumps(body))

    assert call.model == "an-model"
    assert estimate(call.relay.decode()) == 5
    with pytest.raises(RequestRejected):
        decode({"model": "an-model"}, b"")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (Text(""), 4),
        (Text("x" * 400), 104),
        (Thinking("x" * 40), 14),
        (Image(url="https://x.example/a.png"), 1604),
        (Document(text="x" * 400), 104),
        (Document(data="x" * 10), 3004),
        (Document(data="x" * 140_000), 6004),
        (ToolCall("t", "name", '{"x": 1}'), 7),
        (ToolResult("t", (Text("x" * 40), Image(data="aa"))), 1618),
    ],
)
def test_parts_are_counted_by_their_length(part: Part, tokens: int) -> None:
    assert one(part) == tokens


def test_tools_and_schemas_count_by_their_json() -> None:
    plain = Request("m", (said("user", "hi"),))
    tool = Tool("name", "text", {"type": "object"})
    form = ResponseFormat("json_schema", {"type": "object"})

    assert estimate(Request("m", plain.messages, (tool,))) == estimate(plain) + 2 + 5
    assert estimate(Request("m", plain.messages, response_format=form)) == estimate(plain) + 5


def test_the_answer_is_the_count() -> None:
    assert orjson.loads(encode_count(16)) == {"input_tokens": 16}
