from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.providers.anthropic.usage import UsageTotal
from pricing.usage import Usage
from techniques.core.events import (
    BlockAdded,
    Finished,
    FinishReason,
    Redacted,
    Relayed,
    Signed,
    Started,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from techniques.core.request import (
    Opaque,
    RedactedThinking,
    Relay,
    Request,
    Text,
    Thinking,
    ToolCall,
)
from tests.gateway.upstream.anthropic_samples import (
    ANTHROPIC,
    FIXTURES,
    STREAMS,
    TARGET,
    cut,
    decoding,
    folded,
    frame,
    read,
    relayed_bytes,
    relaying,
    stream,
    usage_of,
)


def test_a_text_stream_is_read_with_its_start_usage_and_end() -> None:
    """ANT-07: pings and events of a later version are no part of the answer."""
    events = read(decoding(), [stream("text")])

    assert events[0] == Started("msg_text_7", "claude-example-1")
    assert folded(events).text == 'Grüße, a message_stop is no error:\u2028 "日本" 🦫\n'
    assert events[-1] == Finished("stop")
    assert not any(isinstance(event, Relayed) for event in events)


def test_the_output_count_of_the_end_replaces_that_of_the_start() -> None:
    """ANT-08."""
    usage = usage_of(read(decoding(), [stream("text")]))

    assert (usage.input_tokens, usage.output_tokens) == (25, 15)


def test_cached_tokens_are_part_of_the_input_and_split_by_their_lifetime() -> None:
    """COST-02."""
    assert usage_of(read(decoding(), [stream("tools")])) == Usage(
        input_tokens=1731,
        output_tokens=88,
        cache_read_tokens=1200,
        cache_write_tokens=380,
        cache_write_1h_tokens=120,
        reasoning_tokens=40,
    )


def test_thinking_tools_and_text_keep_their_order_and_signatures_their_bytes() -> None:
    """ANT-03, streamed: the signed but empty block and the redacted one survive."""
    assert folded(read(decoding(), [stream("tools")])).parts == (
        Thinking("Two cities, two calls.", "c2lnbmVkLWJ5LW1l"),
        Thinking("", "ZW1wdHkrYnV0L3NpZ25lZA=="),
        RedactedThinking("b3BhcXVlLWJ5dGVz"),
        Text("Looking both up."),
        ToolCall("toolu_a1", "weather", '{"city": "Bern"}'),
        ToolCall("toolu_b2", "now", "{}"),
    )


def test_calls_are_counted_from_zero_whatever_block_they_are() -> None:
    events = read(decoding(), [stream("tools")])
    begun = [event.index for event in events if isinstance(event, ToolCallStarted)]

    assert begun == [0, 1]
    assert {event.index for event in events if isinstance(event, ToolCallDelta)} == {0, 1}


@pytest.mark.parametrize("pieces", [(), ("",)])
def test_a_call_is_whole_when_its_block_ends_without_arguments_too(pieces: tuple[str, ...]) -> None:
    """Else clients would begin it after the calls that follow it."""
    given = [pieces, ('{"city": ', '"Bern"}'), pieces]
    frames = [frame("message_start", {"message": {"id": "msg_1"}})]
    for index, texts in enumerate(given):
        call = {"type": "tool_use", "id": f"toolu_{index}", "name": "now", "input": {}}
        frames.append(frame("content_block_start", {"index": index, "content_block": call}))
        for text in texts:
            delta = {"type": "input_json_delta", "partial_json": text}
            frames.append(frame("content_block_delta", {"index": index, "delta": delta}))
        frames.append(frame("content_block_stop", {"index": index}))
    frames.append(frame("message_delta", {"delta": {"stop_reason": "tool_use"}}))
    frames.append(frame("message_stop"))
    said = [
        ("begun" if isinstance(event, ToolCallStarted) else event.arguments, event.index)
        for event in read(decoding(), [b"".join(frames)])
        if isinstance(event, ToolCallStarted | ToolCallDelta)
    ]

    bern = [('{"city": ', 1), ('"Bern"}', 1)]
    assert said == [("begun", 0), ("{}", 0), ("begun", 1), *bern, ("begun", 2), ("{}", 2)]


def test_blocks_of_server_tools_come_whole_with_their_collected_input() -> None:
    events = read(decoding(), [stream("search")])
    blocks = [event.block for event in events if isinstance(event, BlockAdded)]

    assert [block.dialect for block in blocks] == ["anthropic", "anthropic"]
    assert blocks[0].value["input"] == {"query": "height of the Eiger"}
    assert blocks[1].value["content"][0]["encrypted_content"] == "Zm9v"
    assert folded(events).text == "It is 3,967 m high."
    assert events[-1] == Finished("pause")
    assert usage_of(events).input_tokens == 2100


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_a_stream_reads_the_same_however_it_is_cut(name: str, data: st.DataObject) -> None:
    """SSE-05: a cut may fall inside a character, too."""
    raw = stream(name)
    chunks = cut(raw, data)

    assert read(decoding(), chunks) == read(decoding(), [raw])


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
def test_a_relayed_stream_comes_out_byte_for_byte_however_it_is_cut(
    name: str, data: st.DataObject
) -> None:
    raw = stream(name)
    events = read(relaying(), cut(raw, data))

    assert relayed_bytes(events) == raw
    assert usage_of(events) == usage_of(read(decoding(), [raw]))
    assert [event for event in events if isinstance(event, Finished)] == [events[-1]]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_other_line_ends_change_nothing(name: str, ending: bytes) -> None:
    """SSE-01."""
    raw = stream(name).replace(b"\n", ending)
    pieces = [raw[place : place + 7] for place in range(0, len(raw), 7)]

    assert read(decoding(), pieces) == read(decoding(), [stream(name)])
    assert relayed_bytes(read(relaying(), pieces)) == raw


def test_the_terminal_frame_of_a_relayed_stream_is_kept_apart() -> None:
    last = read(relaying(), [stream("text")])[-1]

    assert isinstance(last, Finished)
    assert last.raw.startswith(b"event: message_stop\n")
    assert last.reason == "stop"


def test_a_chunk_of_several_events_is_relayed_as_one() -> None:
    reader = relaying()
    raw = stream("tools")
    begin = raw.index(b"event: content_block_start")
    list(reader.feed(raw[: begin + 200]))
    end = raw.index(b"event: message_delta")

    assert len(list(reader.feed(raw[begin + 200 : end]))) == 1


@pytest.mark.parametrize("size", [60, 140, 1500])
def test_relayed_text_is_measured_for_an_estimate_if_the_stream_is_cut(size: int) -> None:
    """USE-07."""
    deltas = frame("content_block_start", {"index": 0, "content_block": {"type": "text"}})
    for word in ["word " * 20] * 10:
        delta = {"type": "text_delta", "text": word}
        deltas += frame("content_block_delta", {"index": 0, "delta": delta})
    reader = relaying()
    events = [*reader.feed(deltas[:size]), *reader.feed(deltas[size:])]
    told = sum(event.characters for event in events if isinstance(event, Relayed))

    assert told == pytest.approx(1000, rel=0.1)


def test_nothing_is_relayed_before_the_content_begins() -> None:
    """ANT-06: start and pings are held back."""
    raw = stream("text")
    begin = raw.index(b"event: content_block_start")
    reader = relaying()

    assert [type(event) for event in reader.feed(raw[:begin])] == [Started, UsageReported]
    first = next(iter(reader.feed(raw[begin : raw.index(b"\n\n", begin) + 2])))
    assert isinstance(first, Relayed)
    assert first.raw.startswith(b"event: message_start")


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop_sequence"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "refusal"),
        ("pause_turn", "pause"),
        ("a_later_reason", "stop"),
    ],
)
def test_stop_reasons_mean_the_same_streamed_and_whole(told: str, reason: FinishReason) -> None:
    """ANT-24."""
    sequence = "END" if told == "stop_sequence" else None
    delta = {"stop_reason": told, "stop_sequence": sequence}
    streamed = frame("message_delta", {"delta": delta, "usage": {}}) + frame("message_stop")
    whole = orjson.dumps({"type": "message", "content": [], **delta})

    assert read(decoding(), [streamed])[-1] == Finished(reason, sequence)
    assert read(decoding(streamed=False), [whole])[-1] == Finished(reason, sequence)
    assert read(relaying(streamed=False), [whole])[-1] == Finished(reason, sequence)


def test_a_whole_message_is_read_block_by_block() -> None:
    """ANT-03, COST-01."""
    raw = (FIXTURES / "whole.json").read_bytes()
    reply = folded(read(decoding(streamed=False), [raw[:100], raw[100:]]))

    assert reply.parts == (
        Thinking("", "c2ln"),
        RedactedThinking("b3BhcXVl"),
        Text("On it."),
        ToolCall("toolu_c3", "f", '{"x":[1,2.5,null]}'),
    )
    assert reply.usage == Usage(input_tokens=1003, output_tokens=50, cache_write_tokens=1000)
    assert (reply.id, reply.finish_reason) == ("msg_whole_9", "tool_calls")


def test_a_whole_message_is_relayed_as_it_came() -> None:
    raw = (FIXTURES / "whole.json").read_bytes()
    events = read(relaying(streamed=False), [raw[:9], raw[9:]])

    assert relayed_bytes(events) == raw
    assert usage_of(events).cache_write_tokens == 1000
    assert events[-1] == Finished("tool_calls")


def test_an_answer_in_the_other_form_than_asked_for_is_decoded() -> None:
    relay = Relay("anthropic", b"{}", {}, lambda: Request("m"))
    request = Request("m", stream=True, relay=relay)
    raw = (FIXTURES / "whole.json").read_bytes()
    events = read(ANTHROPIC.reader(request, TARGET, streamed=False), [raw])

    assert not any(isinstance(event, Relayed) for event in events)
    assert Signed("c2ln") in events
    assert Redacted("b3BhcXVl") in events
    assert ThinkingDelta("") in events


def test_a_block_of_a_kind_not_known_grows_by_its_own_fields() -> None:
    start = {"index": 0, "content_block": {"type": "compaction", "content": "a"}}
    delta = {"index": 0, "delta": {"type": "compaction_delta", "content": "b", "signature": "s"}}
    events = read(
        decoding(),
        [
            frame("content_block_start", start),
            frame("content_block_delta", delta),
            frame("content_block_stop", {"index": 0}),
            frame("message_delta", {"delta": {"stop_reason": "end_turn"}}),
        ],
    )

    block = {"type": "compaction", "content": "ab", "signature": "s"}
    assert events[0] == BlockAdded(Opaque("anthropic", block))


def test_text_whose_block_never_began_is_not_lost() -> None:
    delta = {"index": 3, "delta": {"type": "text_delta", "text": "all the same"}}
    events = read(
        decoding(),
        [
            frame("content_block_delta", delta),
            frame("message_delta", {"delta": {"stop_reason": "end_turn"}}),
        ],
    )

    assert folded(events).text == "all the same"


def test_a_citation_for_a_block_that_has_none_yet_is_taken_in() -> None:
    start = {"index": 0, "content_block": {"type": "quoted", "citations": None}}
    delta = {"index": 0, "delta": {"type": "citations_delta", "citation": {"page": 1}}}
    events = read(
        decoding(),
        [
            frame("content_block_start", start),
            frame("content_block_delta", delta),
            frame("content_block_stop", {"index": 0}),
            frame("message_delta", {"delta": {"stop_reason": "end_turn"}}),
        ],
    )

    assert BlockAdded(Opaque("anthropic", {"type": "quoted", "citations": [{"page": 1}]})) in events


@pytest.mark.parametrize(
    ("told", "mode"),
    [
        ({}, ""),
        ({"service_tier": "standard"}, "standard"),
        ({"service_tier": "batch"}, "batch"),
        ({"service_tier": "standard", "speed": "fast"}, "fast"),
        ({"service_tier": "standard", "speed": "standard"}, "standard"),
        ({"service_tier": 7}, ""),
    ],
)
def test_how_a_message_was_served_goes_with_its_usage(told: dict[str, object], mode: str) -> None:
    total = UsageTotal()

    total.add({"input_tokens": 3, **told})
    total.add({"output_tokens": 4})

    assert total.mode == mode


def test_thinking_is_never_more_than_the_output() -> None:
    total = UsageTotal()

    usage = total.add({"output_tokens": 4, "output_tokens_details": {"thinking_tokens": 9}})

    assert usage == Usage(0, 4, reasoning_tokens=4)


COUNTS = [
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "cache_creation.ephemeral_1h_input_tokens",
    "output_tokens_details.thinking_tokens",
]


def _at(name: str, value: object) -> dict[str, object]:
    whole, _, part = name.partition(".")
    return {"input_tokens": 10, "output_tokens": 5, whole: {part: value} if part else value}


@pytest.mark.parametrize("value", [-1, 2**63, 1e300, "7", True])
@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_none_can_be_marks_the_total_until_a_better_one_comes(
    name: str, value: object
) -> None:
    total = UsageTotal()

    assert getattr(total.add(_at(name, 4)), "faulty", None) is False
    assert getattr(total.add(_at(name, value)), "faulty", None) is True
    assert getattr(total.add({"output_tokens": 6}), "faulty", None) is (name != "output_tokens")
    assert getattr(total.add(_at(name, 7)), "faulty", None) is False


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_that_is_not_told_again_stands(name: str) -> None:
    total = UsageTotal()
    before = total.add(_at(name, 4))

    assert total.add(_at(name, None)) == before
