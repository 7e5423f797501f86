"""An answer ends at a stop text, whether its provider is told of it or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.upstream.provider import Provider, Reader, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.upstream.shared import taken_by
from gateway.upstream.stopping import stopping
from gateway.upstream.thinking import Thinks
from pricing.usage import Usage
from techniques.core.events import (
    Event,
    Finished,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallStarted,
    UsageReported,
    Warned,
)
from techniques.core.json import JsonObject
from techniques.core.request import Request, Sampling, said
from tests.fakes import script

OPENAI: Final = Target("m", "p", "m", takes=taken_by("openai"))
MANY: Final = ("A", "B", "C", "D", "E", "F")
STOP: Final = UsageReported(Usage(9, 9))


class Told:
    """A reader of *events*, some of which come only with the end."""

    def __init__(self, events: Sequence[Event], last: Sequence[Event] = ()) -> None:
        self._events = events
        self._last = last

    def feed(self, chunk: bytes) -> Iterator[Event]:
        return iter(self._events if chunk else ())

    def end(self) -> Iterator[Event]:
        return iter(self._last)


def read(events: Sequence[Event], stops: Sequence[str], *, whole: bool = False) -> list[Event]:
    told = Told([], events) if whole else Told(events)
    reader = stopping(told, stops)
    return [*reader.feed(b"x"), *reader.feed(b""), *reader.end()]


def text(events: Sequence[Event]) -> str:
    return "".join(one.text for one in events if isinstance(one, TextDelta))


@given(
    pieces=st.lists(st.text("ab.", max_size=4), max_size=8),
    stops=st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=3),
    whole=st.booleans(),
)
@settings(deadline=None, derandomize=True)
def test_it_ends_at_the_first_of_them_however_it_is_cut(
    pieces: list[str], stops: list[str], *, whole: bool
) -> None:
    said = "".join(pieces)
    places = [place for stop in stops if (place := said.find(stop)) >= 0]

    events = read([*map(TextDelta, pieces), Finished("length")], stops, whole=whole)

    assert text(events) == (said[: min(places)] if places else said)
    (last,) = (one for one in events if isinstance(one, Finished))
    assert last is events[-1]
    if places:
        assert last.reason == "stop_sequence"
        assert said[min(places) :].startswith(last.stop_sequence or "?")
    else:
        assert last == Finished("length")


def test_what_is_held_back_comes_before_what_follows() -> None:
    events: list[Event] = [
        TextDelta("so EN"),
        ToolCallStarted(0, "c", "f"),
        TextDelta("D"),
        Finished(),
    ]

    assert read(events, ["END"]) == [
        TextDelta("so "),
        TextDelta("EN"),
        ToolCallStarted(0, "c", "f"),
        TextDelta("D"),
        Finished(),
    ]


def test_of_a_whole_answer_what_was_counted_is_told_and_nothing_that_was_said() -> None:
    events: list[Event] = [
        TextDelta("a|b"),
        ToolCallStarted(0, "c", "f"),
        Warned("x"),
        STOP,
        Finished(),
    ]

    kept = read(events, ["|"], whole=True)

    assert kept == [TextDelta("a"), Warned("x"), STOP, Finished("stop_sequence", "|")]


def test_reasoning_does_not_end_it() -> None:
    events: list[Event] = [Started(), ThinkingDelta("a|b"), TextDelta("c"), Finished()]

    assert read(events, ["|"]) == events


def test_without_stop_texts_the_reader_is_the_providers_own() -> None:
    told: Reader = Told([])

    assert stopping(told, ("",)) is told


def asked(dialect: str, stops: Sequence[str]) -> Request:
    sampling = Sampling(stop=tuple(stops), max_output_tokens=99)
    return Request("m", (said("user", "a"),), sampling=sampling, dialect=dialect, stream=True)


def sent(provider: Provider, request: Request, target: Target) -> JsonObject:
    call = provider.encode(replace(request, strict=True), target)  # which tells of no loss
    body: JsonObject = orjson.loads(call.body)
    return body


@pytest.mark.parametrize(
    ("target", "told"),
    [
        (OPENAI, 4),
        (replace(OPENAI, thinks=Thinks(newer_limit=True)), 0),
        (replace(OPENAI, takes=frozenset()), 6),
    ],
)
def test_a_host_is_told_of_as_many_as_it_takes_and_stopped_at_the_others(
    target: Target, told: int
) -> None:
    request = asked("anthropic", MANY)
    chunks = [script.begin(), script.chunk({"content": "so it is"})]
    for place, stop in enumerate(MANY):
        ends = [script.chunk({"content": f" {stop} no"}), script.finish("stop"), script.done()]
        raw = b"".join([*chunks, *ends])
        reader = OpenAIChat().reader(request, target, streamed=True)
        events = [*reader.feed(raw), *reader.end()]

        assert (events[-1] == Finished("stop_sequence", stop)) is (place >= told)
    assert sent(OpenAIChat(), request, target).get("stop", []) == list(MANY[:told])


def test_a_chat_client_itself_says_what_it_likes() -> None:
    assert sent(OpenAIChat(), asked("openai_chat", MANY), OPENAI)["stop"] == list(MANY)


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "ollama"])
@pytest.mark.parametrize("streamed", [True, False])
def test_responses_which_take_none_are_stopped(dialect: str, *, streamed: bool) -> None:
    request = asked(dialect, ["END"])
    item = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "so END no", "annotations": []}],
    }
    whole = {"id": "resp_1", "model": "m", "status": "completed", "output": [item]}
    raw = orjson.dumps({**whole, "usage": {"input_tokens": 3, "output_tokens": 4}})
    if streamed:
        delta = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
        deltas = [
            {"type": "response.output_text.delta", **delta, "delta": one}
            for one in ("so E", "ND", " no")
        ]
        raw = b"".join(b"data: " + orjson.dumps(one) + b"\n\n" for one in deltas)
    reader = OpenAIResponses().reader(request, Target("m", "p", "m"), streamed=streamed)

    events = [*reader.feed(raw), *reader.end()]

    assert text(events) == "so "
    assert events[-1] == Finished("stop_sequence", "END")
    assert any(isinstance(one, UsageReported) for one in events) is not streamed
    assert "stop" not in sent(OpenAIResponses(), request, Target("m", "p", "m"))


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_anthropic_is_stopped_at_blank_ones(dialect: str) -> None:
    request = asked(dialect, ["\n\n", "END"])
    block = {"type": "text", "text": "so\n\nno"}
    whole = {"type": "message", "content": [block], "stop_reason": "end_turn", "usage": {}}
    reader = Anthropic().reader(request, Target("m", "p", "m"), streamed=False)

    events = [*reader.feed(orjson.dumps(whole)), *reader.end()]

    assert text(events) == "so"
    assert events[-1] == Finished("stop_sequence", "\n\n")
    assert sent(Anthropic(), request, Target("m", "p", "m"))["stop_sequences"] == ["END"]
