"""Writes a streamed response."""

from __future__ import annotations

import re
from typing import Final

from gateway.wire import sse
from gateway.wire.dialect import Call, Summary, told
from gateway.wire.drafts import draft
from gateway.wire.openai_responses.events import Events, comment
from gateway.wire.openai_responses.failure import stream_error
from gateway.wire.openai_responses.items import Called, Item, Message, Reasoning, Whole, added
from gateway.wire.openai_responses.namespaces import owned
from gateway.wire.openai_responses.output import call_id, reasoning, tokens_of
from gateway.wire.openai_responses.reasoning import encrypted, redacted
from gateway.wire.openai_responses.response import (
    Frame,
    ended,
    last_of,
    now,
    reported,
    response_id,
    tools_used,
)
from gateway.wire.tiers import openais
from techniques.core.carried import carrying
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
from techniques.core.request import Opaque, ToolCall

_STATUS: Final = re.compile(rb'"sequence_number":\s*(\d+)')
_NAMED: Final = re.compile(rb'"id":\s*"(resp_[A-Za-z0-9_-]+)"')


class ResponseEncoder:
    """Writes the events of one response, or passes on a provider's own.

    It begins with the first piece of the answer. Items follow each other: a new one ends the last,
    but for a call whose arguments may not have all come.
    """

    def __init__(self, call: Call, request_id: str, model: str) -> None:
        self._frame = Frame(call, response_id("", request_id), now(), model)
        self._request_id = request_id
        self._names = self._frame.names
        self._events = Events()
        self._items: list[Item] = []
        self._open: Message | Reasoning | None = None
        self._calls: dict[int, Called] = {}  # that are not done
        self._said = 0
        self._begun = False
        self._told: UsageReported | None = None
        self._finished = Finished()
        self._first = self._last = b""  # of what is relayed

    def feed(self, event: Event) -> bytes:
        """Return the frames that tell a client of *event*."""
        match event:
            case Relayed():
                self._first = self._first or event.raw
                self._last = event.raw
                return event.raw
            case TextDelta():
                return self._say(event)
            case ThinkingDelta():
                return self._think(event.text)
            case ToolCallStarted() | ToolCallDelta():
                return self._tool(event)
            case _:
                return self._other(event)

    def ping(self) -> bytes:
        """Return a comment."""
        return b": ping\n\n"

    def held(self, said: JsonObject) -> bytes:
        """Return a comment."""
        return sse.comment(said)

    def end(self, summary: Summary) -> bytes:
        """Return the trailer and the terminal event with the whole response in it."""
        trailer = b""
        if summary.trailer is not None:
            trailer = comment("lockgate", dict(summary.trailer))
        if self._first:
            return trailer + self._finished.raw
        opening = self._begin()
        status, more = ended(self._finished.reason)
        told = self._told
        more |= {"usage": reported(told.usage if told else None, summary)}
        if told is not None:
            more |= openais(told.mode) | tools_used(told.searches)
        response = self._response(status, **more)
        return opening + trailer + self._events.write(f"response.{status}", {"response": response})

    def fail(self, error: GatewayError) -> bytes:
        """Return ``error``, and ``response.failed``, of a response that was begun by whomever.

        Many clients pass over the second and take what they have for whole. The SDKs raise at the
        first, as long as there is an object ``error`` in it.
        """
        said = stream_error(error)
        opening = self._resumed() if self._first else self._begin()
        told = self._events.write("error", {**said, "type": "error", "error": said})
        response = self._broken(said) if self._first else self._failed(said)
        return opening + told + self._events.write("response.failed", {"response": response})

    def _failed(self, said: JsonObject) -> JsonObject:
        for item in self._items:
            item.settle()
        return self._response("failed", error=said)

    def _resumed(self) -> bytes:
        """Go on with the numbers of a stream that is a provider's own."""
        numbers = _STATUS.findall(self._last)
        self._events.next = int(numbers[-1]) + 1 if numbers else 0
        return b""

    def _broken(self, said: JsonObject) -> JsonObject:
        """Return a response that a provider had begun, under its own name."""
        named = _NAMED.search(self._first)
        name = named[1].decode() if named else self._frame.id
        frame = Frame(self._frame.call, name, self._frame.created_at, self._frame.model)
        return frame.response("failed", [], error=said)

    def _other(self, event: Event) -> bytes:
        match event:
            case RefusalDelta() | Cited():
                return self._beside(event)
            case Signed():
                return self._signed(event.signature)
            case Redacted():
                return self._redacted(event.data)
            case BlockAdded(Opaque(dialect="openai_responses", value=dict(value))):
                return self._whole(value)
            case _:
                return self._frame_event(event)

    def _frame_event(self, event: Event) -> bytes:
        match event:
            case Started():
                if not self._begun:
                    self._name(event.id)
            case UsageReported():
                self._told = event
            case Finished():
                self._finished = event
                return b"" if self._first else self._close(event)
            case Provisional():
                return self._think(draft(event.text), is_draft=True)
            case Traced():
                return comment("trace", told(event))
            case Note(topic="progress"):
                return comment("progress", dict(event.data))
            case _:
                pass
        return b""

    def _name(self, provided: str) -> None:
        frame = self._frame
        named = response_id(provided, self._request_id)
        self._frame = Frame(frame.call, named, frame.created_at, frame.model)
        self._names = self._frame.names

    def _response(self, status: str, **more: Json) -> JsonObject:
        return self._frame.response(status, [item.value for item in self._items], **more)

    def _begin(self) -> bytes:
        if self._begun:
            return b""
        self._begun = True
        begun = {"response": self._response("in_progress")}
        created = self._events.write("response.created", begun)
        return created + self._events.write("response.in_progress", begun)

    def _add(self, item: Item) -> bytes:
        self._items.append(item)
        return added(self._events, item)

    def _next(self) -> bytes:
        """Return the frames that make room for a new item."""
        opening = self._begin()
        if self._open is not None:
            opening += self._open.close(self._events, "completed")
            self._open = None
        for index in [index for index, call in self._calls.items() if call.is_whole]:
            opening += self._calls.pop(index).close(self._events, "completed")
        return opening

    def _message(self) -> tuple[Message, bytes]:
        if isinstance(self._open, Message):
            return self._open, b""
        opening = self._next()
        place = len(self._items)
        self._open = item = Message(self._names.of("msg", place), place, self._said)
        return item, opening + self._add(item)

    def _say(self, event: TextDelta) -> bytes:
        if not event.text:
            return b""
        item, opening = self._message()
        self._said += len(event.text)
        logprobs = [] if event.logprobs is None else tokens_of(event.logprobs)
        return opening + item.say(self._events, event.text, logprobs)

    def _refuse(self, text: str) -> bytes:
        if not text:
            return b""
        item, opening = self._message()
        return opening + item.refuse(self._events, text)

    def _beside(self, event: RefusalDelta | Cited) -> bytes:
        return self._cite(event.citation) if isinstance(event, Cited) else self._refuse(event.text)

    def _cite(self, citation: Citation) -> bytes:
        told = (item for item in reversed(self._items) if isinstance(item, Message))
        item = next(told, None)
        return b"" if item is None else item.cite(self._events, citation)

    def _think(self, text: str, *, is_draft: bool = False) -> bytes:
        item, opening = self._open, b""
        if not isinstance(item, Reasoning) or item.draft is not is_draft:
            opening = self._next()
            place = len(self._items)
            self._open = item = Reasoning(self._names.of("rs", place), place, draft=is_draft)
            opening += self._add(item)
        return opening + item.think(self._events, text)

    def _signed(self, signature: str) -> bytes:
        opening = self._think("")
        assert isinstance(self._open, Reasoning)
        item, self._open = self._open, None
        return opening + item.close(self._events, "completed", encrypted(signature))

    def _redacted(self, data: str) -> bytes:
        item_id = self._names.of("rs", len(self._items))
        return self._whole(reasoning(item_id, "", redacted(data)))

    def _whole(self, value: JsonObject) -> bytes:
        opening = self._next()
        item = Whole(value, len(self._items))
        return opening + self._add(item) + item.close(self._events, "completed")

    def _tool(self, event: ToolCallStarted | ToolCallDelta) -> bytes:
        if isinstance(event, ToolCallDelta):
            item = self._calls.get(event.index)  # None: it was whole before, and is done
            return b"" if item is None else item.argue(self._events, event.arguments)
        opening = self._next()
        place, kind = len(self._items), self._names.kind_of(event.name)
        item_id = self._names.of_call(kind, place)
        before = [item.value for item in self._items]
        named = carrying(call_id(event.id, self._names, before), event.extra)
        made = ToolCall(named, event.name, "")
        called = owned(made, self._names.own)
        begun = Called(item_id, place, called, kind)
        self._calls[event.index] = begun
        return opening + self._add(begun)

    def _close(self, event: Finished) -> bytes:
        """Return the frames that end what is open, in the order in which it was begun."""
        closing = self._begin()
        left: list[Item] = [*self._calls.values(), *([self._open] if self._open else [])]
        for item in sorted(left, key=lambda one: one.place):
            is_last = item.place == len(self._items) - 1
            closing += item.close(self._events, last_of(event.reason) if is_last else "completed")
        self._calls, self._open = {}, None
        return closing
