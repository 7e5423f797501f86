"""Reads answers into the neutral events: streams, and whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.upstream.openai.failure import is_error, unreadable
from gateway.upstream.openai.failure import reported as failed_whole
from gateway.upstream.openai.payload import as_object, as_text, read
from gateway.upstream.providers.openai_responses.answer import ENDS, Content, ended, started
from gateway.upstream.providers.openai_responses.failure import broken_off, failed, reported
from gateway.upstream.providers.openai_responses.usage import usage_of
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.whole import Whole
from techniques.core.events import Event
from techniques.core.json import JsonObject

OF_ALL: Final = "response."
BEGINS: Final = frozenset({"created", "in_progress", "queued"})


class DecodedStream:
    """Reads an event stream. What is not known in it is passed over."""

    def __init__(self) -> None:
        self._sse = SseReader()
        self._content = Content()
        self._begun = False
        self._over = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes."""
        for event in self._sse.feed(chunk):
            yield from self._event(event)

    def end(self) -> Iterator[Event]:
        """Yield what was complete only with the end of the bytes."""
        last = parse(self._sse.rest())
        if last.data is not None and is_whole(last.data):
            yield from self._event(last)
        if not self._over:
            raise broken_off()

    def _event(self, event: SseEvent) -> Iterator[Event]:
        if self._over or event.data is None or event.data.strip() == b"[DONE]":
            return
        body, _ = event_object(event.data)
        name = name_of(event, body)
        if name == "error" or is_error(body):
            raise reported(body)
        what = name.removeprefix(OF_ALL)
        if what in ENDS:
            self._over = True
            yield from self._end(ending(what, body))
        elif what in BEGINS:
            yield from self._begin(response_of(body))
        else:
            yield from self._content.event(what, body)

    def _end(self, response: JsonObject) -> Iterator[Event]:
        yield from self._begin(response)
        yield from ended(response, self._content)

    def _begin(self, response: JsonObject) -> Iterator[Event]:
        if not self._begun:
            self._begun = True
            yield started(response)


class DecodedWhole(Whole):
    """Reads one ``response`` object."""

    def end(self) -> Iterator[Event]:
        """Yield the whole answer's events."""
        response, _ = read_whole(self.body)
        yield started(response)
        yield from ended(response, Content())


def read_whole(body: bytes) -> tuple[JsonObject, bool]:
    """Return the response that *body* is, and whether it had to be mended to be strict JSON.

    Raises:
        UpstreamFailed: It is none, it has not ended, or it reports a failure.
    """
    if not body.strip():
        raise unreadable("is empty")
    try:
        value, mended = read(body)
    except ValueError:
        raise unreadable("is not JSON") from None
    response = as_object(value)
    status = as_text(response.get("status"))
    if status in {"failed", "cancelled"}:
        raise failed(response)
    if is_error(response):
        raise failed_whole(response, usage_of(response.get("usage")))
    if not isinstance(response.get("output"), list):
        raise unreadable("has no output", usage_of(response.get("usage")))
    if status in {"queued", "in_progress"}:
        raise unreadable("has not ended", usage_of(response.get("usage")))
    return response, mended


def event_object(data: bytes) -> tuple[JsonObject, bool]:
    """Return the JSON object that *data* of an event is, and whether it had to be mended.

    Raises:
        UpstreamFailed: It is none.
    """
    try:
        body, mended = read(data)
    except ValueError:
        raise unreadable("has an event that is not JSON") from None
    if not isinstance(body, dict):
        raise unreadable("has an event that is not a JSON object")
    return body, mended


def name_of(event: SseEvent, body: JsonObject) -> str:
    """Return what *event* is: it says so in its data, else in its name."""
    return as_text(body.get("type")) or event.name or ""


def response_of(body: JsonObject) -> JsonObject:
    """Return the response in an event; some hosts spread it over the event itself."""
    response = body.get("response")
    return response if isinstance(response, dict) else body


def ending(what: str, body: JsonObject) -> JsonObject:
    """Return the response that ended so; how is told by the event where it does not say itself."""
    response = response_of(body)
    return response if as_text(response.get("status")) in ENDS else {**response, "status": what}


def is_whole(data: bytes) -> bool:
    """Return whether the last, unended event says all it was to say."""
    try:
        read(data)
    except ValueError:
        return False
    return True
