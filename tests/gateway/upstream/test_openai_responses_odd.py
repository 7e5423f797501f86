"""Answers of a Responses API in which something is not what it should be."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from techniques.core.errors import UpstreamFailed
from techniques.core.events import Finished
from techniques.core.json import Json
from tests.gateway.upstream.openai_responses_samples import (
    FIXTURES,
    decoding,
    folded,
    read,
    relaying,
    stream,
)

WRONG: list[Json] = [None, [], {}, "x", -1, True, 1e300, [1], {"a": 1}, ["x"], [None], [{}]]
MANY = settings(max_examples=250, deadline=None, derandomize=True)


def told(name: str) -> list[list[bytes]]:
    """Return the heads of the events of a stream, and what they say."""
    return [event.split(b"data: ", 1) for event in stream(name).split(b"\n\n") if event]


EVENTS = {name: told(name) for name in ("text", "tools", "search")}
WHOLE = (FIXTURES / "whole.json").read_bytes()


def places(value: Json, at: tuple[Json, ...] = ()) -> Iterator[tuple[Json, ...]]:
    """Yield the path of everything in *value*."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield (*at, name)
        yield from places(inner, (*at, name))


def changed(data: st.DataObject, value: Json) -> Json:
    """Return *value* with something else in one place of it, or nothing."""
    path = data.draw(st.sampled_from([*places(value)]))
    holder = value
    for name in path[:-1]:
        holder = holder[name]
    if isinstance(holder, dict) and data.draw(st.booleans()):
        del holder[path[-1]]
    else:
        holder[path[-1]] = data.draw(st.sampled_from(WRONG))
    return value


@pytest.mark.parametrize("make", [decoding, relaying])
@MANY
@given(data=st.data())
def test_whatever_stands_in_an_event_the_stream_is_read_or_refused(
    make: Json, data: st.DataObject
) -> None:
    events = data.draw(st.sampled_from([*EVENTS.values()]))
    odd = data.draw(st.sets(st.integers(0, len(events) - 1), min_size=1, max_size=4))
    raw = b"".join(
        head
        + b"data: "
        + (orjson.dumps(changed(data, orjson.loads(body))) if place in odd else body)
        + b"\n\n"
        for place, (head, body) in enumerate(events)
    )

    try:
        found = read(make(), [raw])
    except UpstreamFailed:
        return
    assert [event for event in found if isinstance(event, Finished)] == [found[-1]]
    folded(found)


@pytest.mark.parametrize("make", [decoding, relaying])
@MANY
@given(data=st.data())
def test_whatever_stands_in_a_whole_answer_it_is_read_or_refused(
    make: Json, data: st.DataObject
) -> None:
    raw = orjson.dumps(changed(data, orjson.loads(WHOLE)))

    try:
        events = read(make(streamed=False), [raw])
    except UpstreamFailed:
        return
    assert isinstance(events[-1], Finished)
    folded(events)
