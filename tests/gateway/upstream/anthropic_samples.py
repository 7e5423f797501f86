"""Recorded answers of this kind, and ways to read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import strategies as st

from gateway.upstream.families import thinks_of
from gateway.upstream.provider import Reader, Target
from gateway.upstream.providers.anthropic import Anthropic
from pricing.usage import Usage
from techniques.core.errors import UpstreamFailed
from techniques.core.events import (
    Event,
    Finished,
    Relayed,
    UsageReported,
)
from techniques.core.reply import Fold, Reply
from techniques.core.request import (
    Relay,
    Request,
)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "anthropic"
ANTHROPIC = Anthropic()
TARGET = Target(
    "an-model", "an", "claude-example-1", thinks=thinks_of("claude-example-1", "anthropic", "")
)
STREAMS = ["text", "tools", "search"]
MakeReader = Callable[..., Reader]


def stream(name: str) -> bytes:
    return (FIXTURES / f"{name}.sse").read_bytes()


def decoding(*, streamed: bool = True) -> Reader:
    return ANTHROPIC.reader(Request("m", stream=streamed), TARGET, streamed=streamed)


def relaying(*, streamed: bool = True) -> Reader:
    relay = Relay("anthropic", b"{}", {}, lambda: Request("m"))
    request = Request("m", stream=streamed, relay=relay)
    return ANTHROPIC.reader(request, TARGET, streamed=streamed)


def read(reader: Reader, chunks: Iterable[bytes]) -> list[Event]:
    events: list[Event] = []
    for chunk in chunks:
        events.extend(reader.feed(chunk))
    events.extend(reader.end())
    return events


def read_until_failure(
    reader: Reader, chunks: Iterable[bytes]
) -> tuple[list[Event], UpstreamFailed]:
    events: list[Event] = []
    try:
        for chunk in chunks:
            for event in reader.feed(chunk):
                events.append(event)
        events.extend(reader.end())
    except UpstreamFailed as failure:
        return events, failure
    pytest.fail("Nothing failed.")


def folded(events: Iterable[Event]) -> Reply:
    fold = Fold()
    for event in events:
        fold.feed(event)
    return fold.reply()


def relayed_bytes(events: Iterable[Event]) -> bytes:
    return b"".join(event.raw for event in events if isinstance(event, Relayed | Finished))


def frame(name: str, body: object = None) -> bytes:
    data = {"type": name, **(body if isinstance(body, dict) else {})}
    return b"event: %s\ndata: %s\n\n" % (name.encode(), orjson.dumps(data))


def usage_of(events: Iterable[Event]) -> Usage:
    return [event.usage for event in events if isinstance(event, UsageReported)][-1]


def cut(raw: bytes, data: st.DataObject) -> list[bytes]:
    places = data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12))
    return [raw[start:end] for start, end in pairwise([0, *sorted(places), len(raw)])]
