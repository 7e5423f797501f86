"""No text ends a line of a stream, wherever its client sees the ends of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from gateway.responses.frames import Frames
from gateway.surfaces.spoken import DIALECTS
from gateway.wire.dialect import Call, Encoder, Summary
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import (
    Event,
    Finished,
    Note,
    Provisional,
    RefusalDelta,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
)
from techniques.core.json import Json
from techniques.core.request import Relay, Request

ENDS: Final = "".join(
    char for char in map(chr, range(0x2100)) if char != "\n" and len(f"a{char}b".splitlines()) > 1
)
TEXT: Final = f"é{ENDS}é"
TRAILER: Final[Json] = {"model": TEXT}
TOKEN: Final[Json] = {"token": TEXT, "logprob": -0.1, "bytes": None, "top_logprobs": []}
EVENTS: Final[dict[str, Sequence[Event]]] = {
    "text": (Started("x", TEXT), TextDelta(TEXT)),
    "log-probabilities": (TextDelta(TEXT, {"content": [TOKEN]}),),
    "thinking": (ThinkingDelta(TEXT),),
    "refusal": (RefusalDelta(TEXT),),
    "a call": (ToolCallStarted(0, "a", TEXT), ToolCallDelta(0, f'{{"x": "{TEXT}"}}')),
    "a trace": (Traced("1", "draw", TEXT, TEXT),),
    "progress": (Note("progress", {"said": TEXT}),),
    "a draft": (Provisional(TEXT),),
}


def _encoder(dialect: str) -> Encoder:
    relay = Relay(dialect, None, {"model": TEXT}, lambda: Request(TEXT))
    return DIALECTS[dialect].encoder(
        Call(dialect, TEXT, streamed=True, relay=relay, include_usage=True), "r", TEXT
    )


def _lines_are_whole(raw: bytes) -> bool:
    told = raw.decode()
    return told.splitlines() == told.removesuffix("\n").split("\n")


@pytest.mark.parametrize("what", EVENTS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_text_ends_a_line(dialect: str, what: str) -> None:
    out = _encoder(dialect)

    raw = b"".join(map(out.feed, (*EVENTS[what], Finished())))
    raw += out.held({"reason": TEXT}) + out.end(Summary(Usage(), 1, None, "", TRAILER))

    assert "\u2028" in ENDS
    assert b"\\u2028" in raw
    assert _lines_are_whole(raw)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nor_does_that_of_a_failure(dialect: str) -> None:
    out = _encoder(dialect)

    assert _lines_are_whole(out.feed(TextDelta("a")) + out.fail(GatewayError(TEXT)))


def test_nor_where_it_is_said_that_a_response_is_kept() -> None:
    out, frames = _encoder("openai_responses"), Frames({"store": True})

    raw = out.feed(TextDelta(TEXT)) + out.feed(Finished()) + out.end(Summary(Usage(), 1, None, ""))
    told = frames.pass_on(raw) + frames.rest()

    assert frames.has_ended
    assert _lines_are_whole(told)
