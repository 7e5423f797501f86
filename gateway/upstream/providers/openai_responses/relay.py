"""Passes a provider's own bytes on and reads of them only what must be known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import orjson

from gateway.upstream.openai.failure import is_error
from gateway.upstream.openai.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_responses.answer import ENDS, finished, started
from gateway.upstream.providers.openai_responses.decode import (
    BEGINS,
    OF_ALL,
    ending,
    event_object,
    is_whole,
    name_of,
    read_whole,
    response_of,
)
from gateway.upstream.providers.openai_responses.failure import broken_off, failed, reported
from gateway.upstream.providers.openai_responses.item import is_call, kind_of
from gateway.upstream.providers.openai_responses.usage import report_of
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.whole import Whole
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, Started
from techniques.core.json import Json, JsonObject

_NAMED: Final = b"event: response."
_DELTA: Final = b".delta"
_KEY: Final = b'"delta":"'
_LETTERS: Final = re.compile(rb"[ !#-\[\]-~]*")  # what stands in JSON text as itself
_WRITTEN: Final = ("text", "refusal", "arguments", "input", "code", "encrypted_content")


class RelayedStream:
    """Relays an event stream, reading only what is needed to know how it went.

    What comes before the first item is held back, so that a failure there is one before the answer.
    """

    def __init__(self) -> None:
        self._sse = SseReader()
        self._begun = False
        self._flowing = False  # inside the content, and no event waits for its rest
        self._called = False
        self._out: list[bytes] = []
        self._characters = 0
        self._started: Started | None = None
        self._last: list[Event] = []  # the end, when it has come

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the bytes of *chunk* in one piece, as far as it completes events.

        Raises:
            UpstreamFailed: The provider reports a failure, or what it sent cannot be read.
        """
        if self._flowing:
            characters = _said(chunk)
            if characters >= 0:
                return iter((Relayed(chunk, characters),))
        return self._read(self._sse.feed(chunk))

    def end(self) -> Iterator[Event]:
        """Yield what was complete only with the end of the bytes.

        Raises:
            StreamBroken: The model had not finished.
            UpstreamFailed: As for ``feed``.
        """
        if self._last:
            return
        rest = self._sse.rest()
        last = parse(rest)
        if last.data is not None and is_whole(last.data):
            ended = rest.endswith(b"\r\r")  # which the reader holds, as an LF may follow
            raw = rest if ended else rest.rstrip(b"\r\n") + b"\n\n"
            yield from self._read(iter((SseEvent(raw, last.name, last.data),)))
        if not self._last:
            raise broken_off()

    def _read(self, events: Iterator[SseEvent]) -> Iterator[Event]:
        if self._last:
            return
        self._flowing = False
        try:
            for event in events:
                self._take(event)
                if self._last:
                    break
        except UpstreamFailed:
            yield from self._flush()
            raise
        yield from self._flush()
        yield from self._last
        self._flowing = self._begun and not self._last and self._sse.empty

    def _flush(self) -> Iterator[Event]:
        if not self._begun:
            return
        if self._started is not None:
            told, self._started = self._started, None
            yield told
        if self._out:
            yield Relayed(b"".join(self._out), self._characters)
            self._out.clear()
            self._characters = 0

    def _take(self, event: SseEvent) -> None:
        if event.data is None or event.data.strip() == b"[DONE]":
            self._out.append(event.raw)
            return
        if self._begun:
            characters = _said(event.raw)
            if characters >= 0:
                self._characters += characters
                self._out.append(event.raw)
                return
        body, mended = event_object(event.data)
        raw = _frame(event.name, body) if mended else event.raw
        self._take_read(name_of(event, body), body, raw)

    def _take_read(self, name: str, body: JsonObject, raw: bytes) -> None:
        """Take an event that was *read*; each but a beginning is a sign of life."""
        if name == "error" or is_error(body):
            raise reported(body)
        what = name.removeprefix(OF_ALL)
        if what in ENDS:
            self._close(ending(what, body), raw)
            return
        self._out.append(raw)
        if what in BEGINS:
            self._started = self._started or started(response_of(body))
        elif name.startswith(OF_ALL):
            self._begun = True
            told = as_text(body.get("delta")) if what.endswith(".delta") else ""
            self._characters += max(len(told), 1)
            self._called |= is_call(kind_of(as_object(body.get("item"))))

    def _close(self, response: JsonObject, raw: bytes) -> None:
        if response["status"] in {"failed", "cancelled"}:
            raise failed(response)
        if not self._begun and self._started is None:
            self._started = started(response)
        self._begun = True
        report = report_of(response)
        end = finished(response, raw, called=self._called or _calls(response))
        self._last = [end] if report is None else [report, end]


class RelayedWhole(Whole):
    """Relays one ``response`` object."""

    def end(self) -> Iterator[Event]:
        """Yield the whole answer.

        Raises:
            UpstreamFailed: It is none, or it reports a failure.
        """
        body = self.body
        response, mended = read_whole(body)
        yield started(response)
        yield Relayed(orjson.dumps(response) if mended else body, _written(response["output"]))
        report = report_of(response)
        if report is not None:
            yield report
        yield _whole_end(response)


def _whole_end(response: JsonObject) -> Finished:
    return finished(response, called=_calls(response))


def _calls(response: JsonObject) -> bool:
    kinds = (as_object(item).get("type") for item in as_list(response.get("output")))
    return any(is_call(as_text(kind)) for kind in kinds)


def _said(event: bytes) -> int:
    """Return the characters said in *event*, -1 unless it is surely one that only says more."""
    if not event.startswith(_NAMED) or event.find(b"\n\n") != len(event) - 2:
        return -1
    if not event.endswith(_DELTA, 0, event.find(b"\n")):
        return -1
    start = event.find(_KEY) + len(_KEY)
    end = event.find(b'"', start)
    if start < len(_KEY) or end < 0 or not _LETTERS.fullmatch(event, start, end):
        return -1
    return end - start


def _frame(name: str | None, body: JsonObject) -> bytes:
    named = b"" if name is None else b"event: " + name.encode() + b"\n"
    return named + b"data: " + orjson.dumps(body) + b"\n\n"


def _written(value: Json) -> int:
    """Return the characters that the model wrote in *value*: text, reasoning, calls."""
    if isinstance(value, list):
        return sum(map(_written, value))
    characters = 0
    for name, inner in as_object(value).items():
        if isinstance(inner, str):
            characters += len(inner) if name in _WRITTEN else 0
        else:
            characters += _written(inner)
    return characters
