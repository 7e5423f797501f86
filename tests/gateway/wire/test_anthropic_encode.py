from __future__ import annotations

from collections.abc import Iterable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.wire.dialect import Encoder, Summary
from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    BlockAdded,
    Event,
    Finished,
    FinishReason,
    Note,
    Redacted,
    RefusalDelta,
    Relayed,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
    Warned,
)
from techniques.core.reply import Reply
from techniques.core.request import (
    Opaque,
    ToolCall,
)
from tests.gateway.wire.anthropic_calls import BARE, BLOCK, CALL, DIALECT, TRACED, USED
from tests.gateway.wire.anthropic_client import blocks, frames, shape


def encoder() -> Encoder:
    return DIALECT.encoder(CALL, "req_abc123", "an-model")


def written(*events: Event, summary: Summary = BARE) -> bytes:
    out = encoder()
    return b"".join(out.feed(event) for event in events) + out.end(summary)


def test_a_text_becomes_the_events_of_one_message() -> None:
    """ANT-10."""
    raw = written(Started("msg_1", "x"), TextDelta("Hel"), TextDelta("lo"), Finished())

    assert shape(raw) == [
        "message_start",
        "block_start",
        "block_delta",
        "block_delta",
        "block_stop",
        "message_delta",
        "message_stop",
    ]
    assert blocks(raw) == [{"type": "text", "text": "Hello"}]
    assert raw.endswith(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
    assert b"[DONE]" not in raw


def test_the_head_names_the_message_and_the_model() -> None:
    message = frames(written(Started("msg_1", "x"), TextDelta("a"), Finished()))[0]["message"]

    assert (message["id"], message["model"]) == ("msg_1", "an-model")
    assert (message["role"], message["content"], message["stop_reason"]) == ("assistant", [], None)


@pytest.mark.parametrize("started", [Started("chatcmpl-1", "x"), Started()])
def test_an_id_of_another_dialect_is_replaced_by_that_of_the_request(started: Started) -> None:
    assert frames(written(started, TextDelta("a")))[0]["message"]["id"] == "msg_abc123"


def test_parts_become_blocks_in_order() -> None:
    """ANT-03, TOOL-05, TOOL-07."""
    raw = written(
        ThinkingDelta("Two "),
        ThinkingDelta("calls."),
        Signed("c2ln"),
        ThinkingDelta(""),
        Signed("ZW1wdHk="),
        Redacted("b3A="),
        TextDelta("On it."),
        BlockAdded(Opaque("anthropic", BLOCK)),
        BlockAdded(Opaque("openai_chat", {"type": "novel"})),
        ToolCallStarted(0, "t1", "f"),
        ToolCallDelta(0, '{"x":'),
        ToolCallDelta(0, '"1"}'),
        ToolCallStarted(1, "t2", "g"),
        ToolCallDelta(1, ""),
        Finished("tool_calls"),
    )

    assert blocks(raw) == [
        {"type": "thinking", "thinking": "Two calls.", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
        {"type": "redacted_thinking", "data": "b3A="},
        {"type": "text", "text": "On it."},
        BLOCK,
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": "1"}},
        {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
    ]
    starts = [frame for frame in frames(raw) if frame["type"] == "content_block_start"]
    assert starts[5]["content_block"]["input"] == {}


@pytest.mark.parametrize("reason", ["refusal", "stop"])
def test_a_refusal_is_text(reason: FinishReason) -> None:
    raw = written(RefusalDelta("I can"), RefusalDelta("not."), Finished(reason))

    assert blocks(raw) == [{"type": "text", "text": "I cannot."}]
    assert frames(raw)[-2]["delta"]["stop_reason"] == "refusal"


def test_an_answer_without_content_is_still_a_message() -> None:
    """FLT-03."""
    raw = written(TextDelta(""), Finished("content_filter"))

    assert shape(raw) == ["message_start", "message_delta", "message_stop"]


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        ("stop", "end_turn"),
        ("stop_sequence", "stop_sequence"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
        ("refusal", "refusal"),
        ("pause", "pause_turn"),
    ],
)
def test_stop_reasons_have_their_own_names(reason: FinishReason, name: str) -> None:
    """ANT-24."""
    delta = frames(written(Finished(reason, "END")))[-2]["delta"]

    assert delta == {"stop_reason": name, "stop_sequence": "END"}
    reply = Reply(finish_reason=reason)
    assert orjson.loads(DIALECT.whole(CALL, reply, BARE))["stop_reason"] == name


def test_usage_leaves_out_of_the_input_what_the_cache_holds() -> None:
    """ANT-09: the end corrects the start where usage came late."""
    early = frames(written(UsageReported(Usage(10, 1)), TextDelta("a"), UsageReported(USED)))
    late = frames(written(TextDelta("a"), UsageReported(Usage(10, 5))))

    assert early[0]["message"]["usage"]["input_tokens"] == 10
    assert early[-2]["usage"] == {
        "input_tokens": 31,
        "cache_creation_input_tokens": 500,
        "cache_read_input_tokens": 1200,
        "output_tokens": 88,
        "cache_creation": {"ephemeral_5m_input_tokens": 380, "ephemeral_1h_input_tokens": 120},
    }
    assert late[0]["message"]["usage"]["input_tokens"] == 0
    assert (late[-2]["usage"]["input_tokens"], late[-2]["usage"]["output_tokens"]) == (10, 5)


def test_the_run_is_summed_up_before_the_terminal_frame() -> None:
    raw = written(TextDelta("a"), UsageReported(Usage(10, 5)), Finished(), summary=TRACED)

    trailer = ': lockgate {"calls":5,"route":"a→b"}\n\n'.encode()
    assert raw.endswith(trailer + b'event: message_stop\ndata: {"type":"message_stop"}\n\n')
    assert frames(raw)[-2]["usage"]["lockgate"] == {
        "input_tokens": 610,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 90,
        "output_tokens": 300,
        "calls": 5,
        "cost_usd": "0.0123",
        "cost_source": "list",
    }


def test_relayed_bytes_are_passed_on_unchanged() -> None:
    stop = b"event: message_stop\ndata: {}  \n\n"
    relayed = (Relayed(b"event: a\ndata: {}\n\n"), UsageReported(USED), Relayed(b"data: 1\n\n"))

    assert written(*relayed, Finished(raw=stop)) == b"event: a\ndata: {}\n\ndata: 1\n\n" + stop
    assert written(*relayed, Finished()).endswith(b'{"type":"message_stop"}\n\n')
    traced = written(*relayed, Finished(raw=stop), summary=TRACED)
    assert b"\n\n: lockgate {" in traced
    assert traced.endswith(b"}\n\n" + stop)


def test_notes_and_warnings_are_not_told() -> None:
    out = encoder()

    assert out.feed(Note("votes", {"a": 1})) == b""
    assert out.feed(Warned("x")) == b""


def test_a_ping_is_an_event_of_this_dialect() -> None:
    """TECH-11."""
    assert frames(encoder().ping()) == [{"type": "ping"}]


def test_a_failure_ends_the_stream_without_a_terminal_frame() -> None:
    """ANT-05."""
    out = encoder()
    out.feed(TextDelta("Hel"))

    assert frames(out.fail(StreamBroken("Overloaded", "overloaded"))) == [
        {
            "type": "error",
            "error": {"type": "overloaded_error", "message": "Overloaded"},
            "request_id": "req_abc123",
        }
    ]


@pytest.mark.parametrize("foreign", ["functions.f:0", "", "a b", "é"])
def test_foreign_call_ids_become_valid_ones_that_stay_the_same(foreign: str) -> None:
    """TOOL-12."""
    raw = written(ToolCallStarted(0, foreign, "f"))
    own = blocks(raw)[0]["id"]

    assert own.isascii()
    assert own.replace("_", "").replace("-", "").isalnum()
    reply = Reply((ToolCall(foreign, "f", ""),))
    assert orjson.loads(DIALECT.whole(CALL, reply, BARE))["content"][0]["id"] == own


def test_late_arguments_go_to_their_own_block() -> None:
    raw = written(
        ToolCallStarted(0, "a", "f"),
        ToolCallStarted(1, "b", "g"),
        ToolCallDelta(0, "{}"),
        ToolCallDelta(1, "{}"),
    )

    deltas = [frame for frame in frames(raw) if frame["type"] == "content_block_delta"]
    assert [delta["index"] for delta in deltas] == [0, 1]


EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(TextDelta, st.text()),
    st.builds(ThinkingDelta, st.text()),
    st.builds(Signed, st.text(min_size=1)),
    st.builds(Redacted, st.text()),
    st.builds(RefusalDelta, st.text()),
    st.builds(UsageReported, st.just(USED)),
)


@given(st.lists(EVENTS))
def test_any_answer_keeps_the_grammar_of_blocks(events: Iterable[Event]) -> None:
    raw = written(*events, Finished())
    kinds = shape(raw)

    blocks(raw)
    assert kinds[0] == "message_start"
    assert kinds[-2:] == ["message_delta", "message_stop"]
    assert kinds.count("block_start") == kinds.count("block_stop")
