from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.errors import StreamBroken
from techniques.core.events import (
    Choice,
    Event,
    Finished,
    Note,
    Redacted,
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
from techniques.core.json import Json
from techniques.core.reply import Fold, Reply, fold, replied, unfold
from techniques.core.request import (
    Image,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)

WORDS = st.text(min_size=1, max_size=600)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Thinking, st.text(max_size=40), st.text(min_size=1, max_size=10)),
    st.builds(RedactedThinking, WORDS),
    st.builds(Refusal, WORDS),
    st.builds(ToolCall, WORDS, WORDS, st.text(max_size=40)),
    st.builds(Opaque, st.just("anthropic"), st.dictionaries(WORDS, st.integers(), max_size=2)),
)
REASONS = st.sampled_from(
    ["stop", "stop_sequence", "length", "tool_calls", "content_filter", "refusal", "pause"]
)


def _apart(parts: list[Part]) -> tuple[Part, ...]:
    """Drop texts that follow one of their own kind: two runs of deltas are one part."""
    joined = (Text, Refusal)
    kept = [(kind, list(run)) for kind, run in groupby(parts, type)]
    return tuple(part for kind, run in kept for part in (run[:1] if kind in joined else run))


REPLIES = st.builds(
    Reply,
    st.lists(PARTS, max_size=6).map(_apart),
    REASONS,
    st.none() | WORDS,
    st.none() | st.builds(Usage, st.integers(0, 99), st.integers(0, 99)),
    st.none(),
    st.text(max_size=9),
    st.text(max_size=9),
)


def folded(events: Iterable[Event]) -> Reply:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold.reply()


async def _stream(events: Iterable[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


@given(REPLIES)
def test_a_reply_unfolds_to_events_that_fold_to_it(reply: Reply) -> None:
    assert folded(unfold(reply)) == reply


@given(REPLIES)
def test_an_unfolded_reply_is_a_well_formed_stream(reply: Reply) -> None:
    events = list(unfold(reply))

    assert isinstance(events[0], Started)
    assert [type(event) for event in events].count(Finished) == 1
    assert isinstance(events[-1], Finished)


@given(st.text(min_size=1, max_size=2000))
def test_long_texts_come_in_short_pieces_that_join_to_the_text(text: str) -> None:
    pieces = [event.text for event in unfold(replied(text)) if isinstance(event, TextDelta)]

    assert "".join(pieces) == text
    assert all(len(piece.rstrip()) <= 160 for piece in pieces)


@pytest.mark.parametrize("word", ["word ", "x", "\n"])
def test_a_text_of_megabytes_comes_in_hundreds_of_pieces(word: str) -> None:
    text = word * (2_000_000 // len(word))
    pieces = [event.text for event in unfold(replied(text)) if isinstance(event, TextDelta)]

    assert "".join(pieces) == text
    assert len(pieces) < 600


def test_a_piece_ends_between_words_where_it_can() -> None:
    pieces = [e.text for e in unfold(replied("word " * 100)) if isinstance(e, TextDelta)]

    assert len(pieces) > 2
    assert all(piece.endswith("word ") for piece in pieces)


def test_unsigned_thinking_comes_back_unsigned() -> None:
    reply = Reply((Thinking("hm"), Text("42")))

    assert folded(unfold(reply)) == reply


def test_a_signature_closes_the_thinking_before_it() -> None:
    events: list[Event] = [
        ThinkingDelta("a"),
        Signed("s"),
        ThinkingDelta("b"),
        Signed("t"),
        Finished(),
    ]

    assert folded(events).parts == (Thinking("a", "s"), Thinking("b", "t"))


def test_a_signature_without_thinking_makes_an_empty_block() -> None:
    events: list[Event] = [TextDelta("x"), Signed("s"), TextDelta("y"), Finished()]

    assert folded(events).parts == (Text("x"), Thinking("", "s"), Text("y"))


def test_an_empty_thinking_block_is_kept_and_an_empty_text_is_not() -> None:
    events: list[Event] = [ThinkingDelta(""), TextDelta(""), Redacted("r"), Finished()]

    assert folded(events).parts == (Thinking(""), RedactedThinking("r"))


def test_tool_calls_may_be_interleaved() -> None:
    events: list[Event] = [
        ToolCallStarted(0, "a", "first"),
        ToolCallStarted(1, "b", "second"),
        ToolCallDelta(1, "{2"),
        ToolCallDelta(0, "{1"),
        ToolCallDelta(0, "}"),
        ToolCallDelta(1, "}"),
        Finished("tool_calls"),
    ]

    assert folded(events).parts == (ToolCall("a", "first", "{1}"), ToolCall("b", "second", "{2}"))


def test_what_is_no_part_of_the_answer_leaves_no_trace() -> None:
    around: list[Event] = [Note("votes", {}), Warned("self_judged"), Relayed(b"x", 1)]

    assert folded([*around, TextDelta("a"), *around, Finished()]) == replied("a")


def test_the_last_usage_report_counts() -> None:
    events: list[Event] = [UsageReported(Usage(1, 1)), UsageReported(Usage(1, 5)), Finished()]

    assert folded(events).usage == Usage(1, 5)


def test_log_probabilities_of_all_pieces_are_joined() -> None:
    events: list[Event] = [
        TextDelta("a", {"content": [{"token": "a"}], "refusal": None}),
        TextDelta("b", {"content": [{"token": "b"}]}),
        TextDelta("c"),
        Finished(),
    ]

    assert folded(events).logprobs == {"content": [{"token": "a"}, {"token": "b"}]}


@pytest.mark.parametrize("logprobs", [{"content": [{"token": "a"}]}, None])
def test_log_probabilities_stay_with_the_text_when_unfolded(logprobs: Json) -> None:
    reply = Reply((Text("some words " * 40),), logprobs=logprobs)

    assert folded(unfold(reply)) == reply


def test_what_was_collected_so_far_can_be_looked_at() -> None:
    fold = Fold()
    fold.feed(TextDelta("half an ans"))

    assert fold.so_far(Finished("length")) == replied("half an ans", "length")
    assert fold.so_far().finish_reason == "stop"


async def test_a_stream_without_an_end_is_broken() -> None:
    with pytest.raises(StreamBroken):
        await fold(_stream([Started(), TextDelta("half")]))


async def test_a_stream_is_folded_to_its_reply() -> None:
    assert await fold(_stream(unfold(replied("whole")))) == replied("whole")


def test_what_is_no_part_of_a_reply_cannot_be_unfolded() -> None:
    with pytest.raises(TypeError, match="Image"):
        list(unfold(Reply((Image(url="https://example.org/a.png"),))))


def test_a_reply_tells_its_kinds_of_text_apart() -> None:
    call = ToolCall("1", "f", "{}")
    reply = Reply((Thinking("hm"), Text("a"), Refusal("no"), call, Text("b"), Thinking("!")))

    assert (reply.text, reply.thinking, reply.refusal) == ("ab", "hm!", "no")
    assert reply.tool_calls == (call,)


def test_an_empty_reply_has_no_part() -> None:
    assert replied("").parts == ()


def test_further_answers_stand_beside_the_first_and_count_with_it() -> None:
    others = (replied("second", "length", Usage(2, 3)), Reply((ToolCall("1", "f", "{}"),)))
    reply = replace(replied("first", usage=Usage(1, 1)), others=others)

    assert folded(unfold(reply)) == reply
    assert reply.text == "first"
    assert reply.used == Usage(3, 4)
    assert replace(reply, usage=None).used is None


def test_further_answers_may_come_in_pieces_and_in_any_order() -> None:
    second, third = unfold(replied("second")), unfold(replied("third"))
    mixed: list[Event] = [Choice(2, next(third)), TextDelta("first"), Choice(1, next(second))]
    mixed += [Choice(index, event) for index, rest in ((1, second), (2, third)) for event in rest]

    assert [other.text for other in folded([*mixed, Finished()]).others] == ["second", "third"]


def test_a_further_answer_without_an_end_is_broken_too() -> None:
    with pytest.raises(StreamBroken):
        folded([TextDelta("first"), Choice(1, TextDelta("half")), Finished()])
