"""Gives back to a tool call what its id carried through a client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from gateway.wire.dialect import Call
from techniques.core.carried import MARK, parted
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Part, Request, ToolCall, ToolResult

_MARK: Final = MARK.encode()
_IDS: Final = ("id", "tool_use_id", "call_id")
_TURNS: Final = ("messages", "input")


def returned(call: Call, raw: bytes) -> Call:
    """Return *call*, read from *raw*, with the ids that the providers gave.

    In a body that is relayed there is nothing else of what was carried: its provider is another.
    """
    if raw.find(_MARK) == -1:
        return call
    relay = call.relay
    decode = relay.decode
    body = plain(relay.body)
    back = replace(relay, raw=None, body=body, decode=lambda: restored(decode()))
    return replace(call, relay=back)


def restored(request: Request) -> Request:
    """Return *request* with its calls' own ids, and beside them what these carried."""
    return replace(request, messages=tuple(map(_turn, request.messages)))


def plain(body: Mapping[str, Json]) -> JsonObject:
    """Return a client's *body* with its calls' own ids."""
    changed = dict(body)
    for name in _TURNS:
        if isinstance(turns := body.get(name), list):
            changed[name] = [_named(turn) for turn in turns]
    return changed


def _turn(message: Message) -> Message:
    return replace(message, parts=tuple(map(_part, message.parts)))


def _part(part: Part) -> Part:
    if isinstance(part, ToolCall):
        own, kept = parted(part.id)
        return replace(part, id=own, extra={**part.extra, **kept}) if kept else part
    if isinstance(part, ToolResult):
        own, kept = parted(part.call_id)
        return replace(part, call_id=own) if kept else part
    return part


def _named(item: Json) -> Json:
    """Return a turn, or an item or block, with the ids that the providers gave."""
    if not isinstance(item, dict):
        return item
    named = {name: parted(given)[0] for name in _IDS if isinstance(given := item.get(name), str)}
    content = item.get("content")
    inner = {"content": list(map(_named, content))} if isinstance(content, list) else {}
    return {**item, **named, **inner}
