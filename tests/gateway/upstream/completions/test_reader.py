"""Legacy completions are passed on as they came, wherever they are cut."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.upstream.completions.call import choices_of, encode
from gateway.upstream.completions.reader import CompletionStream, CompletionWhole, Unstreamed
from gateway.upstream.provider import Reader, Target
from pricing.usage import Usage
from techniques.core.capabilities import Capabilities
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, Started, UsageReported
from techniques.core.json import Json
from techniques.core.relayed import COMPLETIONS
from techniques.core.request import Relay, Request
from tests.fakes.script import frame

DONE = b"data: [DONE]\n\n"
USED = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def relay(*, shows_usage: bool = False, **fields: Json) -> Relay:
    body = {"model": "m", "prompt": "Say it", **fields}
    return Relay(COMPLETIONS, orjson.dumps(body), body, lambda: Request("m"), shows_usage)


def chunk(text: str, reason: str | None = None, index: int = 0, **more: Json) -> bytes:
    choice = {"text": text, "index": index, "logprobs": None, "finish_reason": reason}
    return frame({"id": "cmpl-1", "object": "text_completion", "choices": [choice]} | more)


def usage() -> bytes:
    return frame({"id": "cmpl-1", "object": "text_completion", "choices": [], "usage": USED})


def read(reader: Reader, *pieces: bytes) -> list[Event]:
    told = [event for piece in pieces for event in reader.feed(piece)]
    return [*told, *reader.end()]


def relayed(events: list[Event]) -> bytes:
    ends = b"".join(event.raw for event in events if isinstance(event, Finished))
    return b"".join(event.raw for event in events if isinstance(event, Relayed)) + ends


@given(st.lists(st.integers(1, 60), max_size=30))
def test_a_stream_is_the_same_wherever_it_is_cut(sizes: list[int]) -> None:
    body = b": hi\n\n" + chunk("one ") + chunk("two") + chunk("", "length") + usage() + DONE
    pieces, at = [], 0
    for size in [*sizes, len(body)]:
        pieces.append(body[at : at + size])
        at += size

    events = read(CompletionStream(relay(shows_usage=True)), *pieces)

    assert relayed(events) == body
    assert events[0] == Started("cmpl-1")
    assert events[-1] == Finished("length", raw=DONE)
    assert UsageReported(Usage(3, 2)) in events
    assert sum(event.characters for event in events if isinstance(event, Relayed)) == 7


def test_usage_that_was_not_asked_for_is_read_and_not_shown() -> None:
    apart = [chunk("hi", "stop"), usage(), DONE]
    within = [chunk("hi", "stop", usage=USED), DONE]

    for pieces in (apart, within):
        events = read(CompletionStream(relay()), *pieces)

        assert relayed(events) == chunk("hi", "stop") + DONE
        assert UsageReported(Usage(3, 2)) in events


def test_usage_within_a_chunk_is_shown_at_the_end_alone() -> None:
    events = read(CompletionStream(relay(shows_usage=True)), chunk("hi", "stop", usage=USED), DONE)

    assert relayed(events) == chunk("hi", "stop", usage=None) + usage() + DONE


def test_a_stream_without_an_end_mark_is_whole_when_all_texts_are() -> None:
    both = relay(prompt=["a", "b"])
    one = [chunk("x", "stop", 0)]

    assert read(CompletionStream(both), *one, chunk("y", "stop", 1))[-1] == Finished("stop")
    with pytest.raises(StreamBroken):
        read(CompletionStream(both), *one)


@pytest.mark.parametrize("pieces", [[chunk("x")], [chunk("x"), DONE], [chunk("x"), b"data: {"], []])
def test_a_stream_that_ends_before_its_texts_is_broken(pieces: list[bytes]) -> None:
    with pytest.raises(StreamBroken):
        read(CompletionStream(relay()), *pieces)


def test_an_error_inside_a_stream_comes_after_what_was_said() -> None:
    events = CompletionStream(relay()).feed(
        chunk("x") + frame({"error": {"message": "gone wrong"}})
    )

    assert (next(events), next(events)) == (Started("cmpl-1"), Relayed(chunk("x"), 1))
    with pytest.raises(UpstreamFailed, match="gone wrong"):
        next(events)


def whole(**more: Json) -> dict[str, Json]:
    choices = [{"text": "hi", "index": 0, "logprobs": None, "finish_reason": "length"}]
    return {"id": "cmpl-1", "object": "text_completion", "choices": choices, "usage": USED, **more}


def test_a_whole_answer_is_passed_on() -> None:
    body = orjson.dumps(whole())

    assert read(CompletionWhole(relay()), body[:9], body[9:]) == [
        Started("cmpl-1"),
        Relayed(body, 2),
        UsageReported(Usage(3, 2)),
        Finished("length"),
    ]


@pytest.mark.parametrize("shows_usage", [True, False])
def test_a_whole_answer_to_who_wanted_a_stream_is_one(shows_usage: bool) -> None:  # noqa: FBT001
    reader = CompletionWhole(relay(shows_usage=shows_usage), streamed=True)
    events = read(reader, orjson.dumps(whole()))

    told = [orjson.loads(line[6:]) for line in relayed(events).split(b"\n\n") if line]
    assert told[0]["choices"] == whole()["choices"]
    assert [one["usage"] for one in told if one.get("usage")] == ([USED] if shows_usage else [])


def test_a_stream_to_who_wanted_none_is_refused() -> None:
    with pytest.raises(UpstreamFailed, match="is a stream"):
        read(Unstreamed(), chunk("x"))
    with pytest.raises(UpstreamFailed, match="is a stream"):
        read(Unstreamed())


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"", "not JSON"), (b"[]", "no choices"), (b'{"choices": []}', "no choices")],
)
def test_what_is_no_answer_may_be_asked_for_again(body: bytes, message: str) -> None:
    with pytest.raises(UpstreamFailed, match=message) as raised:
        read(CompletionWhole(relay()), body)

    assert raised.value.retryable


def test_a_whole_error_is_a_failure() -> None:
    with pytest.raises(UpstreamFailed, match="no such"):
        read(CompletionWhole(relay()), orjson.dumps({"error": {"message": "no such thing"}}))


def test_the_model_is_named_as_its_provider_does_and_usage_is_asked_for() -> None:
    sent = orjson.loads(encode(relay(stream=True, logprobs=2), Target("m", "p", "real")).body)

    assert sent == {
        "model": "real",
        "prompt": "Say it",
        "stream": True,
        "logprobs": 2,
        "stream_options": {"include_usage": True},
    }


def test_what_a_host_does_not_know_of_streams_is_not_said() -> None:
    target = Target("m", "p", "m", Capabilities(stream_usage=False))
    asked = relay(stream=True, stream_options={"include_usage": True})

    assert "stream_options" not in orjson.loads(encode(asked, target).body)


def test_a_body_that_needs_no_change_goes_as_it_came() -> None:
    asked = relay(suffix=None)

    assert encode(asked, Target("m", "p", "m")).body is asked.raw


def test_texts_are_counted_by_prompts() -> None:
    assert choices_of({"prompt": "a"}) == 1
    assert choices_of({"prompt": [1, 2], "n": 3}) == 3
    assert choices_of({"prompt": ["a", "b"], "n": 2}) == 4
    assert choices_of({"prompt": [[1], [2], [3]]}) == 3
    assert choices_of({}) == 1
