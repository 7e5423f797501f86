"""Writes one answer as the event stream of the Messages API."""

from __future__ import annotations

from typing import Literal

from gateway.wire.anthropic.cited import citation_of
from gateway.wire.anthropic.failure import error_object
from gateway.wire.anthropic.said import called_id, message_id, reported, stop_reason, usage_object
from gateway.wire.dialect import Summary, told
from gateway.wire.drafts import draft
from gateway.wire.sse import comment
from pricing.usage import Usage
from techniques.core.citation import Citation
from techniques.core.errors import GatewayError
from techniques.core.events import (
    BlockAdded,
    Cited,
    Event,
    Finished,
    Note,
    Provisional,
    Redacted,
    RefusalDelta,
    Relayed,
    Signed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    UsageReported,
)
from techniques.core.json import Json, JsonObject
from techniques.core.lines import on_a_line
from techniques.core.request import Opaque

_PING = b'event: ping\ndata: {"type":"ping"}\n\n'
_STOP = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
_Open = Literal["text", "thinking", "draft", "tool"]


class MessageEncoder:
    """Writes one streamed message.

    The head is written with the first piece of content, so that it can name the input tokens
    where the provider told of them first. Blocks never overlap: a new one closes the last.
    """

    def __init__(self, request_id: str, model: str) -> None:
        self._id = message_id("", request_id)
        self._request = request_id
        self._model = model
        self._begun = False
        self._relayed = False
        self._refused = False
        self._open: _Open | None = None
        self._index = -1  # of the last block begun
        self._calls: dict[int, int] = {}  # index of a call -> of its block
        self._delta_head = b""
        self._cited = False  # the open block, which is over with the text that its source is of
        self._usage: Usage | None = None
        self._mode = ""
        self._searches = 0
        self._finished = Finished()

    def feed(self, event: Event) -> bytes:
        """Return the bytes that tell a client of *event*, b"" if it is not told of it."""
        match event:
            case TextDelta() | RefusalDelta():
                self._refused = self._refused or isinstance(event, RefusalDelta)
                return self._text(event.text)
            case ThinkingDelta():
                return self._thinking(event.text)
            case ToolCallDelta():
                return self._arguments(event)
            case ToolCallStarted():
                return self._call(event)
            case _:
                return self._other(event)

    def ping(self) -> bytes:
        """Return a ``ping`` event; it may stand anywhere, also before ``message_start``."""
        return _PING

    def held(self, said: JsonObject) -> bytes:
        """Return a comment."""
        return comment(said)

    def end(self, summary: Summary) -> bytes:
        """Return the last block's end, the stop reason with the usage, the trailer and the stop."""
        trailer = b""
        if summary.trailer is not None:
            trailer = comment(dict(summary.trailer))
        if self._relayed:
            return trailer + (self._finished.raw or _STOP)
        usage = reported(self._usage, summary, self._mode, self._searches)
        delta: JsonObject = {
            "stop_reason": stop_reason(self._finished.reason, refused=self._refused),
            "stop_sequence": self._finished.stop_sequence,
        }
        if self._finished.details is not None:
            delta["stop_details"] = self._finished.details
        last = _event("message_delta", {"delta": delta, "usage": usage})
        return self._begin() + self._close() + last + trailer + _STOP

    def fail(self, error: GatewayError) -> bytes:
        """Return an ``error`` event; no ``message_stop`` may follow it."""
        told: JsonObject = {"error": error_object(error)}
        if self._request:
            told["request_id"] = self._request
        return _event("error", told)

    def _other(self, event: Event) -> bytes:
        match event:
            case Relayed():
                self._relayed = True
                return event.raw
            case Signed():
                return self._signed(event.signature)
            case Redacted():
                return self._whole({"type": "redacted_thinking", "data": event.data})
            case BlockAdded(Opaque(dialect="anthropic")):
                return self._whole(event.block.value)
            case _:
                return self._frame(event)

    def _frame(self, event: Event) -> bytes:
        match event:
            case Cited():
                return self._cite(event.citation)
            case Started():
                self._id = message_id(event.id, self._id.removeprefix("msg_"))
            case UsageReported():
                self._usage, self._mode = event.usage, event.mode or self._mode
                self._searches = event.searches
            case Finished():
                self._finished = event
            case Provisional():
                return self._thinking(draft(event.text), "draft")
            case _:
                return _aside(event)
        return b""

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        message: JsonObject = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage_object(self._usage or Usage(), self._mode),
        }
        return _event("message_start", {"message": message})

    def _start(self, block: Json) -> bytes:
        opening = self._begin() + self._close()
        self._index += 1
        self._delta_head = _delta_head(self._index)
        body = {"index": self._index, "content_block": block}
        return opening + _event("content_block_start", body)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return _event("content_block_stop", {"index": self._index})

    def _delta(self, head: bytes, text: str) -> bytes:
        return self._delta_head + head + on_a_line(text) + b"}}\n\n"

    def _text(self, text: str) -> bytes:
        if not text:
            return b""
        opening = b""
        if self._open != "text" or self._cited:
            opening = self._start({"type": "text", "text": ""})
            self._open, self._cited = "text", False
        return opening + self._delta(b'{"type":"text_delta","text":', text)

    def _cite(self, citation: Citation) -> bytes:
        told = citation_of(citation)
        if self._open != "text" or not told:
            return b""
        self._cited = True
        delta = {"type": "citations_delta", "citation": told}
        return _event("content_block_delta", {"index": self._index, "delta": delta})

    def _thinking(self, text: str, kind: Literal["thinking", "draft"] = "thinking") -> bytes:
        opening = b""
        if self._open != kind:
            opening = self._start({"type": "thinking", "thinking": "", "signature": ""})
            self._open = kind
        if not text:
            return opening
        return opening + self._delta(b'{"type":"thinking_delta","thinking":', text)

    def _signed(self, signature: str) -> bytes:
        opening = self._thinking("")
        signed = self._delta(b'{"type":"signature_delta","signature":', signature)
        return opening + signed + self._close()

    def _whole(self, block: Json) -> bytes:
        start = self._start(block)
        return start + _event("content_block_stop", {"index": self._index})

    def _call(self, event: ToolCallStarted) -> bytes:
        block = {"type": "tool_use", "id": called_id(event), "name": event.name, "input": {}}
        opening = self._start(block)
        self._open = "tool"
        self._calls[event.index] = self._index
        return opening

    def _arguments(self, event: ToolCallDelta) -> bytes:
        if not event.arguments:
            return b""
        # A call may go on after the next has begun. Its block is over then, but clients
        # collect by index, and arguments that are late are better than arguments that are lost.
        head = _delta_head(self._calls[event.index])
        partial = on_a_line(event.arguments)
        return head + b'{"type":"input_json_delta","partial_json":' + partial + b"}}\n\n"


def _aside(event: Event) -> bytes:
    """Return what is told of an *event* that is no part of the message: comments, or nothing."""
    match event:
        case Traced():
            return _comment("trace", told(event))
        case Note(topic="progress"):
            return _comment("progress", dict(event.data))
        case _:
            return b""


def _comment(name: str, body: JsonObject) -> bytes:
    return f": {name} ".encode() + on_a_line(body) + b"\n\n"


def _delta_head(index: int) -> bytes:
    return (
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,"delta":'
        % index
    )


def _event(name: str, body: JsonObject) -> bytes:
    data = on_a_line({"type": name, **body})
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
