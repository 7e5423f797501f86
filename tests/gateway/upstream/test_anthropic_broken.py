from __future__ import annotations

import pytest

from techniques.core.errors import StreamBroken
from techniques.core.events import (
    Finished,
    Started,
    TextDelta,
    UsageReported,
)
from tests.gateway.upstream.anthropic_samples import (
    MakeReader,
    decoding,
    folded,
    read,
    read_until_failure,
    relayed_bytes,
    relaying,
    stream,
    usage_of,
)


@pytest.mark.parametrize("make", [decoding, relaying])
def test_an_overload_before_the_content_can_be_tried_again(make: MakeReader) -> None:
    """ANT-06."""
    events, failure = read_until_failure(make(), [stream("overloaded_first")])

    assert {type(event) for event in events} == {Started, UsageReported}
    assert not isinstance(failure, StreamBroken)
    assert (failure.kind, failure.retryable, failure.said.type) == (
        "overloaded",
        True,
        "overloaded_error",
    )


@pytest.mark.parametrize("size", [1, 50, 10_000])
@pytest.mark.parametrize("make", [decoding, relaying])
def test_an_overload_after_some_text_breaks_the_stream_and_loses_no_text(
    make: MakeReader, size: int
) -> None:
    """ANT-05."""
    raw = stream("overloaded_later")
    chunks = [raw[place : place + size] for place in range(0, len(raw), size)]
    events, failure = read_until_failure(make(), chunks)

    assert isinstance(failure, StreamBroken)
    assert (failure.kind, failure.message) == ("overloaded", "Overloaded")
    if make is decoding:
        assert TextDelta("Hel") in events
    else:
        assert relayed_bytes(events) == raw[: raw.index(b"event: error")]


@pytest.mark.parametrize("make", [decoding, relaying])
def test_a_stream_that_ends_before_the_stop_reason_is_broken(make: MakeReader) -> None:
    """SSE-12."""
    raw = stream("text")
    events, failure = read_until_failure(make(), [raw[: raw.index(b"event: message_delta")]])

    assert isinstance(failure, StreamBroken)
    assert not any(isinstance(event, Finished) for event in events)


@pytest.mark.parametrize("kept", [0, 9, 30])
@pytest.mark.parametrize("make", [decoding, relaying])
def test_a_missing_or_half_terminal_frame_does_no_harm(make: MakeReader, kept: int) -> None:
    """SSE-14."""
    raw = stream("text")
    events = read(make(), [raw[: raw.index(b"event: message_stop") + kept]])

    assert events[-1] == Finished("stop", raw=b"")


def test_a_terminal_frame_without_its_blank_line_counts() -> None:
    events = read(relaying(), [stream("text").rstrip(b"\n")])

    assert relayed_bytes(events) == stream("text")


@pytest.mark.parametrize("make", [decoding, relaying])
def test_an_empty_body_is_a_broken_stream(make: MakeReader) -> None:
    """RET-06, streamed."""
    _, failure = read_until_failure(make(), [])

    assert failure.retryable


@pytest.mark.parametrize("make", [decoding, relaying])
def test_what_follows_the_terminal_frame_is_passed_over(make: MakeReader) -> None:
    """ANT-10: no `[DONE]` is passed on."""
    reader = make()
    events = [*reader.feed(stream("text")), *reader.feed(b"data: [DONE]\n\n"), *reader.end()]

    assert [event for event in events if isinstance(event, Finished)] == [events[-1]]
    assert b"[DONE]" not in relayed_bytes(events)


@pytest.mark.parametrize("make", [decoding, relaying])
def test_empty_data_fields_are_heartbeats(make: MakeReader) -> None:
    """SSE-07."""
    raw = b"data:\n\n" + stream("text").replace(
        b"event: ping\n", b": busy\n\nevent: ping\ndata: \n\n", 1
    )

    assert read(make(), [raw])[-1].__class__ is Finished


def test_events_without_a_name_are_known_by_their_type() -> None:
    raw = b"".join(
        line + b"\n" for line in stream("text").split(b"\n") if not line.startswith(b"event:")
    )

    assert folded(read(decoding(), [raw])) == folded(read(decoding(), [stream("text")]))
    assert usage_of(read(relaying(), [raw])).output_tokens == 15


@pytest.mark.parametrize("make", [decoding, relaying])
def test_an_error_object_without_a_type_is_a_failure(make: MakeReader) -> None:
    """SSE-19."""
    raw = b'data: {"error":{"message":"engine crashed","type":"server_error"}}\n\n'
    _, failure = read_until_failure(make(), [raw])

    assert (failure.message, failure.retryable) == ("engine crashed", True)


def test_data_that_is_no_json_is_an_unreadable_answer() -> None:
    _, failure = read_until_failure(decoding(), [b"event: message_start\ndata: {oops\n\n"])

    assert (failure.kind, failure.retryable) == ("invalid_answer", True)


@pytest.mark.parametrize("make", [decoding, relaying])
@pytest.mark.parametrize("body", [b"", b"upstream busy", b"[]", b'{"ok":true}', b'"x"'])
def test_a_body_that_is_no_message_is_a_failure_worth_a_second_try(
    make: MakeReader, body: bytes
) -> None:
    """RET-06."""
    _, failure = read_until_failure(make(streamed=False), [body])

    assert (failure.kind, failure.retryable) == ("invalid_answer", True)


@pytest.mark.parametrize("make", [decoding, relaying])
def test_an_error_object_with_status_200_is_a_failure(make: MakeReader) -> None:
    """RET-09."""
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}'
    _, failure = read_until_failure(make(streamed=False), [body])

    assert (failure.kind, failure.message) == ("rate_limited", "slow down")
