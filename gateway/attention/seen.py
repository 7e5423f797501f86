"""Finds the tool calls in a model's answer, also in bytes that are only passed on. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import orjson

from gateway.upstream.sse import SseReader
from techniques.core.events import Choice, Event, Finished, Relayed, ToolCallStarted
from techniques.core.json import Json, JsonObject

_MARKS = (b"tool", b"function_call")
_CALLS = ("function_call", "custom_tool_call")


class Call(NamedTuple):
    """A call of a tool, as a model made it."""

    tool: str
    id: str


Calls: TypeAlias = Iterator[Call]


class Seen:
    """Reads the events of one answer; *streamed* tells what relayed bytes of it are."""

    def __init__(self, *, streamed: bool) -> None:
        self._sse = SseReader() if streamed else None
        self._body = bytearray()

    def feed(self, event: Event) -> list[Call]:
        """Return the calls that begin with *event*; those of a whole body, with its end."""
        match event:
            case ToolCallStarted():
                return [Call(event.name, event.id)]
            case Choice():
                return self.feed(event.event)
            case Relayed() if self._sse is None:
                self._body += event.raw
            case Relayed():
                return list(self._read(event.raw))
            case Finished() if self._body:
                return list(_whole(_object(bytes(self._body))))
            case _:
                pass
        return []

    def _read(self, raw: bytes) -> Calls:
        assert self._sse is not None
        is_whole = self._sse.empty and raw.endswith(b"\n\n")
        if is_whole and not any(raw.find(mark) >= 0 for mark in _MARKS):
            return
        for event in self._sse.feed(raw):
            if event.data is not None and any(event.data.find(mark) >= 0 for mark in _MARKS):
                yield from _piece(_object(event.data))


def _object(text: bytes) -> JsonObject:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return read if isinstance(read, dict) else {}


def _piece(event: JsonObject) -> Calls:
    yield from _chosen(event, "delta")
    yield from _blocks([event.get("content_block")])
    if event.get("type") == "response.output_item.added":
        yield from _items([event.get("item")])


def _whole(body: JsonObject) -> Calls:
    yield from _chosen(body, "message")
    yield from _blocks(body.get("content"))
    yield from _items(body.get("output"))


def _chosen(body: JsonObject, part: str) -> Calls:
    """Yield the calls in OpenAI's choices; only the piece that names a call begins it."""
    for choice in _objects(body.get("choices")):
        message = _mapping(choice.get(part))
        for call in _objects(message.get("tool_calls")):
            named = _mapping(call.get("function")) or _mapping(call.get("custom"))
            yield from _call(named.get("name"), call.get("id"))
        yield from _call(_mapping(message.get("function_call")).get("name"), "")


def _blocks(blocks: Json) -> Calls:
    """Yield the calls in Anthropic's content blocks."""
    for block in _objects(blocks):
        if block.get("type") == "tool_use":
            yield from _call(block.get("name"), block.get("id"))


def _items(items: Json) -> Calls:
    """Yield the calls among the items of a response."""
    for item in _objects(items):
        if item.get("type") in _CALLS:
            yield from _call(item.get("name"), item.get("call_id"))


def _call(name: Json, call_id: Json) -> Calls:
    if isinstance(name, str) and name:
        yield Call(name, call_id if isinstance(call_id, str) else "")


def _objects(values: Json) -> Iterator[JsonObject]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))


def _mapping(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def offered(body: Mapping[str, Json]) -> Iterator[str]:
    """Yield the names of the tools that a request's *body* offers, in either dialect."""
    for tool in _objects(body.get("tools")):
        named = _mapping(tool.get("function")) or _mapping(tool.get("custom")) or tool
        yield from (call.tool for call in _call(named.get("name"), ""))
    yield from (
        call.tool
        for function in _objects(body.get("functions"))
        for call in _call(function.get("name"), "")
    )
