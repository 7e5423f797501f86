"""Recorded answers of a Responses API, ways to read them, and what is sent for requests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import strategies as st

from gateway.upstream.families import thinks_of
from gateway.upstream.provider import HttpCall, Reader, Target
from gateway.upstream.providers.openai_responses import OpenAIResponses
from pricing.usage import Usage
from techniques.core.capabilities import Capabilities
from techniques.core.errors import RequestRejected, UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, UsageReported
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold, Reply
from techniques.core.request import Message, Relay, Request, said

FIXTURES = Path(__file__).parents[2] / "fixtures" / "openai_responses"
RESPONSES = OpenAIResponses()
TARGET = Target("rs-model", "rs", "real-rs")
STREAMS = ["text", "tools", "search", "odd"]
HI = said("user", "hi")


def thinking_target(model: str) -> Target:
    return replace(TARGET, model=model, thinks=thinks_of(model, "openai_responses", ""))


def able(**capabilities: Json) -> Target:
    return replace(TARGET, capabilities=Capabilities(**capabilities))


def stream(name: str) -> bytes:
    return (FIXTURES / f"{name}.sse").read_bytes()


def decoding(*, streamed: bool = True) -> Reader:
    return RESPONSES.reader(Request("m", stream=streamed), TARGET, streamed=streamed)


def relaying(*, streamed: bool = True) -> Reader:
    return RESPONSES.reader(relayed({}, stream=streamed), TARGET, streamed=streamed)


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
        for event in reader.end():
            events.append(event)
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


def usage_of(events: Iterable[Event]) -> Usage:
    return [event.usage for event in events if isinstance(event, UsageReported)][-1]


def cut(raw: bytes, data: st.DataObject) -> list[bytes]:
    places = data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=12))
    return [raw[start:end] for start, end in pairwise([0, *sorted(places), len(raw)])]


def asked(*messages: Message, dialect: str = "openai_chat", **fields: Json) -> Request:
    return replace(Request("m", messages or (HI,), dialect=dialect), **fields)


def relayed(body: JsonObject, *, stream: bool = False, bare: bool = False) -> Request:
    raw = None if bare else orjson.dumps(body, option=orjson.OPT_INDENT_2)
    relay = Relay("openai_responses", raw, body, lambda: Request("m"))
    return Request("m", stream=stream, dialect="openai_responses", relay=relay)


def encoded(request: Request, target: Target = TARGET) -> tuple[JsonObject, set[tuple[str, str]]]:
    call: HttpCall = RESPONSES.encode(request, target)
    return orjson.loads(call.body), {(warned.code, warned.detail) for warned in call.warnings}


def sent(request: Request, target: Target = TARGET) -> JsonObject:
    return encoded(request, target)[0]


def refused(request: Request, target: Target = TARGET) -> str | None:
    with pytest.raises(RequestRejected) as rejected:
        RESPONSES.encode(request, target)
    return rejected.value.param
