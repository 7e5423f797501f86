"""Turns the messages of a client and their content blocks into neutral turns and parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import orjson

from gateway.wire.anthropic.fields import a_string, an_object, flag, reject, rest, string
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Document,
    Image,
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

_Decode: TypeAlias = Callable[[JsonObject, str], Part]

_ROLES: Mapping[Json, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_MESSAGE = frozenset({"role", "content"})
_TEXT = frozenset({"type", "text", "cache_control"})
_IMAGE = frozenset({"type", "source", "cache_control"})
_DOCUMENT = frozenset({"type", "source", "title", "cache_control"})
_TOOL_USE = frozenset({"type", "id", "name", "input", "cache_control"})
_TOOL_RESULT = frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"})


def decode_turns(message: JsonObject, path: str) -> list[Message]:
    """Return the turn that *message* is; its tool results stand in a turn of their own before it.

    Raises:
        RequestRejected: It is no message.
    """
    role = _ROLES.get(name) if isinstance(name := message.get("role"), str) else None
    if role is None:
        reject(f"{path}.role", '"user", "assistant" or "system"')
    parts = decode_parts(message.get("content"), f"{path}.content", BLOCKS)
    extra = rest(message, _MESSAGE)
    results = tuple(part for part in parts if isinstance(part, ToolResult))
    if not results:
        return [Message(role, parts, extra=extra)]
    turns = [Message("tool", results)]
    others = tuple(part for part in parts if not isinstance(part, ToolResult))
    if others:
        turns.append(Message(role, others, extra=extra))
    return turns


def decode_parts(content: Json, path: str, blocks: Mapping[str, _Decode]) -> tuple[Part, ...]:
    """Return the parts of *content*: a string or a list of blocks, of which *blocks* are known."""
    if isinstance(content, str):
        return (Text(content),)
    if not isinstance(content, list):
        reject(path, "a string or a list of content blocks")
    return tuple(_part(block, f"{path}.{place}", blocks) for place, block in enumerate(content))


def _part(value: Json, path: str, blocks: Mapping[str, _Decode]) -> Part:
    block = an_object(value, path)
    kind = a_string(block.get("type"), f"{path}.type")
    decode = blocks.get(kind)
    return Opaque("anthropic", block) if decode is None else decode(block, path)


def _text(block: JsonObject, path: str) -> Part:
    text = a_string(block.get("text"), f"{path}.text")
    return Text(text, block.get("cache_control"), rest(block, _TEXT))


def _image(block: JsonObject, path: str) -> Part:
    source = an_object(block.get("source"), f"{path}.source")
    cache, extra = block.get("cache_control"), rest(block, _IMAGE)
    match source.get("type"):
        case "base64":
            return Image(
                data=a_string(source.get("data"), f"{path}.source.data"),
                media_type=a_string(source.get("media_type"), f"{path}.source.media_type"),
                cache=cache,
                extra=extra,
            )
        case "url":
            url = a_string(source.get("url"), f"{path}.source.url")
            return Image(url=url, cache=cache, extra=extra)
        case "file":
            file_id = a_string(source.get("file_id"), f"{path}.source.file_id")
            return Image(file_id=file_id, cache=cache, extra=extra)
        case _:
            return Opaque("anthropic", block)


def _document(block: JsonObject, path: str) -> Part:
    source = an_object(block.get("source"), f"{path}.source")
    fields = {"base64": "data", "text": "data", "url": "url", "file": "file_id"}
    kind = source.get("type")
    field = fields.get(kind) if isinstance(kind, str) else None
    if field is None:  # such as "content", whose blocks have their own cache marks
        return Opaque("anthropic", block)
    value = a_string(source.get(field), f"{path}.source.{field}")
    return Document(
        url=value if kind == "url" else None,
        data=value if kind == "base64" else None,
        text=value if kind == "text" else None,
        file_id=value if kind == "file" else None,
        media_type=string(source, "media_type", f"{path}.source"),
        name=string(block, "title", path),
        cache=block.get("cache_control"),
        extra=rest(block, _DOCUMENT),
    )


def _thinking(block: JsonObject, path: str) -> Part:
    text = a_string(block.get("thinking"), f"{path}.thinking")
    return Thinking(text, string(block, "signature", path))


def _redacted(block: JsonObject, path: str) -> Part:
    return RedactedThinking(a_string(block.get("data"), f"{path}.data"))


def _tool_use(block: JsonObject, path: str) -> Part:
    return ToolCall(
        id=a_string(block.get("id"), f"{path}.id"),
        name=a_string(block.get("name"), f"{path}.name"),
        arguments=orjson.dumps(an_object(block.get("input"), f"{path}.input")).decode(),
        cache=block.get("cache_control"),
        extra=rest(block, _TOOL_USE),
    )


def _tool_result(block: JsonObject, path: str) -> Part:
    content = block.get("content")
    parts = () if content is None else decode_parts(content, f"{path}.content", _RESULT_BLOCKS)
    return ToolResult(
        call_id=a_string(block.get("tool_use_id"), f"{path}.tool_use_id"),
        parts=parts,
        is_error=flag(block, "is_error", f"{path}.is_error") or False,
        cache=block.get("cache_control"),
        extra=rest(block, _TOOL_RESULT),
    )


TEXT_BLOCKS: Mapping[str, _Decode] = {"text": _text}
_RESULT_BLOCKS: Mapping[str, _Decode] = {"text": _text, "image": _image, "document": _document}
BLOCKS: Mapping[str, _Decode] = {
    **_RESULT_BLOCKS,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
}
