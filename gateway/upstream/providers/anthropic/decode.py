"""Reads answers into neutral events, streamed or whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from gateway.upstream.providers.anthropic.answer import Content, Frame
from gateway.upstream.providers.anthropic.failure import broken_off, failed_inside, unreadable
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.untold import untold
from gateway.upstream.whole import Whole
from techniques.core.events import Event, RefusalDelta
from techniques.core.json import Json, JsonObject

_HEADS: Final = ("container", "diagnostics")
"""What an answer tells of itself beside its content, for which nobody else has a place."""
_USED: Final = "usage.server_tool_use"


class StreamReader:
    """Reads an event stream. Pings, comments and events that are not known are passed over.

    *foreign*: the client knows no details of a refusal.
    """

    def __init__(self, *, foreign: bool = True) -> None:
        self._foreign = foreign
        self._sse = SseReader()
        self._frame = Frame()
        self._content = Content()
        self._begun = False
        self._done = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes.

        Raises:
            UpstreamFailed: The provider reports a failure, or what it sent cannot be read.
        """
        for event in self._sse.feed(chunk):
            if event.data is not None and not self._done:
                yield from self._read(event)

    def end(self) -> Iterator[Event]:
        """Yield the end, if the model had said why it stopped.

        Raises:
            StreamBroken: It had not.
            UpstreamFailed: As for ``feed``.
        """
        last = unfinished_event(self._sse)
        if last is not None and not self._done:
            yield from self._read(last)
        if not self._done:
            if not self._frame.complete:
                raise broken_off()
            yield from _last(self._frame, foreign=self._foreign)

    def _read(self, event: SseEvent) -> Iterable[Event]:
        body = event_object(event, begun=self._begun)
        match body.get("type") or event.name:
            case "content_block_delta":
                return self._content.grow(body.get("index"), body.get("delta"))
            case "content_block_start":
                self._begun = True
                return self._content.start(body.get("index"), body.get("content_block"))
            case "content_block_stop":
                return self._content.stop(body.get("index"))
            case _:
                return self._read_frame(event, body)

    def _read_frame(self, event: SseEvent, body: JsonObject) -> Iterator[Event]:
        match body.get("type") or event.name:
            case "message_start":
                yield from self._frame.start(body.get("message"))
                yield from _beside(body.get("message"))
            case "message_delta":
                self._frame.stop(body.get("delta"))
                yield from self._frame.used(body.get("usage"))
                yield from _beside(body.get("delta"))
                yield from _beside({"usage": body.get("usage")})
            case "message_stop":
                yield from self._finish()
            case _ if "error" in body:
                raise failed_inside(body, begun=self._begun)
            case _:
                pass

    def _finish(self) -> Iterator[Event]:
        if not self._frame.complete:
            raise broken_off()
        self._done = True
        return _last(self._frame, foreign=self._foreign)


class WholeReader(Whole):
    """Reads an answer that is one JSON object; *foreign* as for a stream."""

    def __init__(self, *, foreign: bool = True) -> None:
        super().__init__()
        self._foreign = foreign

    def end(self) -> Iterator[Event]:
        """Yield the whole answer.

        Raises:
            UpstreamFailed: The body is an error, or no message.
        """
        message = message_object(self.body)
        frame, content = Frame(), Content()
        yield from frame.start(message)
        yield from _beside(message)
        for index, block in enumerate(message["content"]):
            yield from content.start(index, block)
            yield from content.stop(index)
        frame.stop(message)
        yield from _last(frame, foreign=self._foreign)


def _beside(message: Json) -> Iterator[Event]:
    """Name what *message*, or the end of one, tells beside its content that is not told on."""
    if not isinstance(message, dict):
        return
    yield from untold(message, *_HEADS)
    usage = message.get("usage")
    done = usage.get("server_tool_use") if isinstance(usage, dict) else None
    yield from untold(done, "web_fetch_requests", at=_USED)


def _last(frame: Frame, *, foreign: bool) -> Iterator[Event]:
    """Yield the end; to *foreign* clients why the model declined is told as its words."""
    if foreign:
        explanation = frame.details.get("explanation")
        if isinstance(explanation, str) and explanation:
            yield RefusalDelta(explanation)
        yield from untold(frame.details, "category", at="stop_details")
    yield frame.finished()


def message_object(body: bytes) -> JsonObject:
    """Return the message that *body* is.

    Raises:
        UpstreamFailed: It is an error, or no message.
    """
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise unreadable(begun=False) from error
    if not isinstance(message, dict):
        raise unreadable(begun=False)
    if message.get("type") == "error" or isinstance(message.get("error"), dict):
        raise failed_inside(message, begun=False)
    if not isinstance(message.get("content"), list):
        raise unreadable(begun=False)
    return message


def event_object(event: SseEvent, *, begun: bool) -> JsonObject:
    """Return the JSON object of *event*.

    Raises:
        UpstreamFailed: It has none.
    """
    try:
        body = orjson.loads(event.data or b"")
    except orjson.JSONDecodeError as error:
        raise unreadable(begun=begun) from error
    if not isinstance(body, dict):
        raise unreadable(begun=begun)
    return body


def unfinished_event(sse: SseReader) -> SseEvent | None:
    """Return the event that the stream ended in, if only its blank line is missing."""
    rest = sse.rest()
    if not rest.endswith(b"\r\r"):  # which the reader holds, as an LF may follow
        rest = rest.rstrip(b"\r\n") + b"\n\n"
    event = parse(rest)
    if event.data is None:
        return None
    try:
        orjson.loads(event.data)
    except orjson.JSONDecodeError:
        return None
    return event
