"""What one side of the dialect writes, the other reads as the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import orjson
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.provider import Reader, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Call, Summary
from pricing.usage import Usage
from techniques.core.events import Event, FinishReason
from techniques.core.json import JsonObject
from techniques.core.reply import Fold, Reply, unfold
from techniques.core.request import (
    Opaque,
    Part,
    RedactedThinking,
    Relay,
    Request,
    Text,
    Thinking,
    ToolCall,
)

CLIENT = AnthropicMessages()
PROVIDER = Anthropic()
TARGET = Target("m", "an", "m")
CALL = Call(
    "anthropic", "m", streamed=True, relay=Relay("anthropic", b"", {}, lambda: Request("m"))
)
SUMMARY = Summary(Usage(), 1, None, "none", {"calls": 1})

WORDS = st.text(min_size=1, max_size=20)
COUNTS = st.integers(0, 2000)
BLOCK: JsonObject = {"type": "container_upload", "file_id": "f"}
ARGUMENTS = st.dictionaries(WORDS, st.integers(-9, 9) | WORDS, min_size=1, max_size=3)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thinking, st.text(max_size=20), WORDS),
    st.builds(RedactedThinking, WORDS),
    st.builds(
        ToolCall,
        st.from_regex(r"[a-zA-Z0-9_-]{1,9}", fullmatch=True),
        WORDS,
        ARGUMENTS.map(lambda value: orjson.dumps(value).decode()),
    ),
    st.just(Opaque("anthropic", BLOCK)),
)
REASONS: st.SearchStrategy[FinishReason] = st.sampled_from(
    ["stop", "stop_sequence", "length", "tool_calls", "refusal", "pause"]
)


@st.composite
def replies(draw: st.DrawFn) -> Reply:
    parts: list[Part] = []
    for part in draw(st.lists(PARTS, max_size=6)):
        neighbours = parts and isinstance(part, Text) and isinstance(parts[-1], Text)
        if not neighbours:  # they are one part to a reader
            parts.append(part)
    read, five, hour, rest, output = (draw(COUNTS) for _ in range(5))
    usage = Usage(read + five + hour + rest, output, read, five, hour, draw(st.integers(0, output)))
    return Reply(tuple(parts), draw(REASONS), draw(st.none() | WORDS), usage, None, "msg_1", "m")


def folded(reader: Reader, chunks: Iterable[bytes]) -> Reply:
    fold = Fold()
    events: list[Event] = []
    for chunk in chunks:
        events.extend(reader.feed(chunk))
    events.extend(reader.end())
    for event in events:
        fold.feed(event)
    return fold.reply()


@given(replies(), st.integers(1, 200))
def test_a_streamed_reply_comes_back_the_same(reply: Reply, size: int) -> None:
    encoder = CLIENT.encoder(CALL, "req_1", "m")
    raw = b"".join(encoder.feed(event) for event in unfold(reply)) + encoder.end(SUMMARY)
    reader = PROVIDER.reader(Request("m", stream=True), TARGET, streamed=True)

    assert folded(reader, [raw[at : at + size] for at in range(0, len(raw), size)]) == reply


@given(replies())
def test_a_whole_reply_comes_back_the_same(reply: Reply) -> None:
    raw = CLIENT.whole(CALL, reply, SUMMARY)
    reader = PROVIDER.reader(Request("m"), TARGET, streamed=False)

    assert folded(reader, [raw]) == reply


@given(replies())
def test_a_reply_sent_back_as_history_says_the_same(reply: Reply) -> None:
    """ANT-03: thinking goes back byte for byte, in its place."""
    content = orjson.loads(CLIENT.whole(CALL, reply, SUMMARY))["content"]
    visible = [block for block in content if block.get("text", "x").strip()]
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        *([{"role": "assistant", "content": content}] if visible else []),
        {"role": "user", "content": [{"type": "text", "text": "go on"}]},
    ]
    sent = carried({"model": "m", "max_tokens": 5, "messages": messages})

    if visible:
        assert sent["messages"][1] == {"role": "assistant", "content": visible}


def carried(body: JsonObject) -> JsonObject:
    """Return *body* after a way through the neutral form."""
    call = CLIENT.decode(body, orjson.dumps(body))
    request = replace(call.relay.decode(), relay=None)
    encoded = PROVIDER.encode(request, TARGET)
    assert encoded.warnings == ()
    found: JsonObject = orjson.loads(encoded.body)
    return found


def test_a_request_with_everything_comes_out_the_same() -> None:
    mark = {"type": "ephemeral"}
    data = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    picture = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    body: JsonObject = {
        "model": "m",
        "max_tokens": 9000,
        "stream": True,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?", "cache_control": mark},
                    picture,
                    {"type": "document", "source": data, "title": "T", "context": "C"},
                    {"type": "search_result", "source": "s", "title": "t", "content": []},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "", "signature": "c2ln"},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {}, "caller": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": [picture]},
                    {"type": "text", "text": "Well?"},
                ],
            },
        ],
        "tools": [
            {
                "name": "f",
                "input_schema": {"type": "object"},
                "strict": True,
                "cache_control": mark,
            },
            {"type": "web_search_20250305", "name": "web_search"},
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "enabled", "budget_tokens": 2048, "display": "omitted"},
        "output_config": {
            "effort": "high",
            "format": {"type": "json_schema", "schema": {"type": "object"}},
            "later": 1,
        },
        "metadata": {"user_id": "u", "later": 2},
        "stop_sequences": ["END"],
        "service_tier": "auto",
        "mcp_servers": [],
        "later": None,
    }

    assert carried(body) == body
