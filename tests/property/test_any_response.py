"""Whatever a model says, and in whatever pieces: a response's stream is well-formed, and its end
is what a whole answer says."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from pricing.usage import Usage
from techniques.core.events import (
    BlockAdded,
    Event,
    Finished,
    FinishReason,
    Note,
    Redacted,
    RefusalDelta,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque
from techniques.core.signatures import marked
from tests.gateway.wire.responses_calls import CUSTOM, FUNCTION, encoder, streamed, whole

MANY = settings(max_examples=150, deadline=None, derandomize=True)
WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
SEARCHED = {"type": "web_search_call", "status": "completed"}
SEARCH: JsonObject = {"type": "tool_search", "execution": "client"}
ACTION = {"action": {"type": "search", "query": "a"}}
REASONS: tuple[FinishReason, ...] = ("stop", "length", "tool_calls", "content_filter", "refusal")
ARGUMENTS = st.sampled_from(
    ["", "{}", '{"a":1}', '{"input":"x"}', '{"a"', "[", "plain", '{"a":{}}']
)
TIMES = {"created_at": 0, "completed_at": 0, "model": ""}


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Return a well-formed stream; arguments of calls may come in turn, whole or not."""
    calls: list[list[str]] = []
    told: list[Event] = [Started(draw(st.sampled_from(["", "resp_1", "chatcmpl-1"])))]
    for _ in range(draw(st.integers(0, 9))):
        told += draw(st.sampled_from(PIECES))(draw, calls)
    rest = [ToolCallDelta(index, piece) for index, left in enumerate(calls) for piece in left]
    told += rest
    if draw(st.booleans()):
        told.append(UsageReported(Usage(3, 4, reasoning_tokens=1)))
    return [*told, Finished(draw(st.sampled_from(REASONS)))]


Calls = list[list[str]]


def _said(draw: st.DrawFn, calls: Calls) -> Iterator[Event]:
    del calls
    yield draw(st.sampled_from([TextDelta, ThinkingDelta, RefusalDelta]))(draw(WORD))


def _signed(draw: st.DrawFn, calls: Calls) -> Iterator[Event]:
    del calls
    yield ThinkingDelta(draw(WORD))
    yield Signed(draw(st.sampled_from(["c2ln", marked("gA=="), marked("gA==", "rs_9")])))


def _aside(draw: st.DrawFn, calls: Calls) -> Iterator[Event]:
    search = {**SEARCHED, **ACTION, "id": f"ws_{len(calls)}"}
    asides: list[Event] = [
        Note("votes", {}),
        Redacted("b3A="),
        BlockAdded(Opaque("anthropic", {"type": "odd"})),
        BlockAdded(Opaque("openai_chat", {"reasoning_details": []}, thinking=True)),
        BlockAdded(Opaque("openai_responses", search)),
    ]
    yield draw(st.sampled_from(asides))


def _called(draw: st.DrawFn, calls: Calls) -> Iterator[Event]:
    text = draw(ARGUMENTS)
    cut = draw(st.integers(0, len(text)))
    call_id = draw(st.sampled_from(["", "call_0", f"call_{len(calls)}"]))
    yield ToolCallStarted(len(calls), call_id, draw(st.sampled_from(["f", "patch", "tool_search"])))
    calls.append([text[:cut], text[cut:]])
    if draw(st.booleans()):
        yield ToolCallDelta(len(calls) - 1, calls[-1].pop(0))


def _argued(draw: st.DrawFn, calls: Calls) -> Iterator[Event]:
    open_ = [index for index, left in enumerate(calls) if left]
    if open_:
        index = draw(st.sampled_from(open_))
        yield ToolCallDelta(index, calls[index].pop(0))


PIECES = (_said, _said, _signed, _aside, _called, _argued)


@MANY
@given(streams())
def test_a_stream_ends_with_what_a_whole_answer_says(events: list[Event]) -> None:
    tools: dict[str, Json] = {"tools": [FUNCTION, CUSTOM, SEARCH]}
    told = streamed(encoder(**tools), *events)
    last, other = told[-1]["response"], whole(*events, **tools)

    assert _named(last) == _named(other)
    added = [one["output_index"] for one in told if one["type"].endswith("item.added")]
    done = [one["output_index"] for one in told if one["type"].endswith("item.done")]
    assert added == sorted(done) == list(range(len(added)))
    ids = [item["call_id"] for item in last["output"] if "call_id" in item]
    assert len(set(ids)) == len(ids)


def _named(response: JsonObject) -> JsonObject:
    """Return *response* without what differs in time."""
    return response | TIMES
