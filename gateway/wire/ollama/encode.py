"""Writes a streamed response: a JSON object a line."""

from __future__ import annotations

import orjson

from gateway.wire.dialect import Call, Summary, told
from gateway.wire.drafts import draft
from gateway.wire.ollama.common import GAP, asked_name, calls_of, ending, logprobs_of, now, one_line
from gateway.wire.ollama.failure import error_of
from gateway.wire.ollama.shape import Shape
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import (
    Event,
    Finished,
    FinishReason,
    Note,
    Provisional,
    RefusalDelta,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
    Traced,
    UsageReported,
)
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold


class LineEncoder:
    """Writes the lines of one answer in *shape*.

    The lines know no comments: what is said beside the answer stands in a field ``lockgate`` of a
    line whose text is empty. Tool calls are told whole, when all of them are there.
    """

    def __init__(self, call: Call, shape: Shape) -> None:
        self._call = call
        self._shape = shape
        self._model = asked_name(call)
        self._head = b'{"model":' + orjson.dumps(self._model) + b',"created_at":'
        self._calls = Fold()
        self._gap = ""  # what keeps a refusal apart from the text before it
        self._reason: FinishReason = "stop"
        self._usage: Usage | None = None

    def feed(self, event: Event) -> bytes:
        """Return the line that tells a client of *event*."""
        match event:
            case TextDelta():
                return self._spoken(event)
            case RefusalDelta():
                gap, self._gap = self._gap, ""
                return self._said(gap + event.text)
            case ThinkingDelta():
                return self._line(self._shape.thought(event.text)) if event.text else b""
            case Finished():
                return self._finish(event)
            case _:
                self._note(event)
                return self._aside(event)

    def ping(self) -> bytes:
        """Return a line that says nothing."""
        return self._said("")

    def held(self, said: JsonObject) -> bytes:
        """Return a line without text that tells of a hold."""
        return self._line(self._shape.said(""), {"lockgate": said})

    def end(self, summary: Summary) -> bytes:
        """Return the last line."""
        last = ending(self._call, self._reason, self._usage, summary)
        return self._written({**self._shape.said(""), **last})

    def fail(self, error: GatewayError) -> bytes:
        """Return a line with the error; none after it says that the answer is done."""
        return one_line(orjson.dumps(error_of(error)))

    def _note(self, event: Event) -> None:
        """Take in what is told later."""
        match event:
            case ToolCallStarted() | ToolCallDelta():
                self._calls.feed(event)
            case UsageReported():
                self._usage = event.usage
            case _:
                pass

    def _finish(self, event: Finished) -> bytes:
        self._reason = event.reason
        calls = self._calls.so_far().tool_calls
        return self._line(self._shape.called(calls_of(calls))) if calls else b""

    def _aside(self, event: Event) -> bytes:
        """Return what is told of an *event* that is no part of the answer."""
        match event:
            case Provisional():
                return self._line(self._shape.thought(draft(event.text)))
            case Traced():
                return self._line(self._shape.said(""), {"lockgate": told(event)})
            case Note(topic="progress"):
                said: Json = {"progress": dict(event.data)}
                return self._line(self._shape.said(""), {"lockgate": said})
            case _:
                return b""

    def _spoken(self, event: TextDelta) -> bytes:
        if event.text:
            self._gap = GAP
        if event.logprobs is None:
            return self._said(event.text)
        return self._line(self._shape.said(event.text), logprobs_of(event.logprobs))

    def _said(self, text: str) -> bytes:
        """Return a line that is only some *text*: nearly all are."""
        before, after = self._shape.around
        return one_line(self._head + now() + before + orjson.dumps(text) + after)

    def _line(self, answer: JsonObject, beside: JsonObject | None = None) -> bytes:
        return self._written({**answer, "done": False, **(beside or {})})

    def _written(self, fields: JsonObject) -> bytes:
        return one_line(self._head + now() + b"," + orjson.dumps(fields)[1:])
