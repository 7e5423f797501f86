"""Says as text what Anthropic's clients say in blocks: search results, documents, found tools.

A tool that was found stands among the tools of the request, as it does for Anthropic.
Source: platform.claude.com/docs (search-results; citations, custom content documents; tool search).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gateway.upstream.openai.payload import as_list, as_object, as_text
from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, Opaque, Part, Text, ToolResult

_READ: Final = frozenset({"type", "title", "source", "context", "content", "cache_control"})


def readable(messages: Sequence[Message]) -> Sequence[Message]:
    """Return *messages* with a text in the place of each block that only wraps texts."""
    return [_told(message) if _wraps(message.parts) else message for message in messages]


def _wraps(parts: Sequence[Part]) -> bool:
    return any(
        _wraps(part.parts) if isinstance(part, ToolResult) else isinstance(part, Opaque)
        for part in parts
    )


def _told(message: Message) -> Message:
    return replace(message, parts=tuple(map(_part, message.parts)))


def _part(part: Part) -> Part:
    if isinstance(part, ToolResult):
        return replace(part, parts=tuple(map(_part, part.parts)))
    if not isinstance(part, Opaque) or part.dialect != "anthropic":
        return part
    block = as_object(part.value)
    match block.get("type"):
        case "search_result":
            content, head = block.get("content"), ("title", "source")
        case "document":
            content, head = as_object(block.get("source")).get("content"), ("title", "context")
        case "tool_reference" if name := as_text(block.get("tool_name")):
            return Text(f"Found the tool {name}.")
        case _:
            return part
    said = _texts(content)
    return part if said is None else _text(block, (*_lines(block, head), *said))


def _text(block: JsonObject, said: Sequence[str]) -> Text:
    extra = {name: value for name, value in block.items() if name not in _READ}
    return Text("\n\n".join(said), block.get("cache_control"), extra)


def _texts(content: Json) -> list[str] | None:
    """Return the texts of *content*, None if there is something else in it."""
    if isinstance(content, str):
        return [content]
    blocks = [as_object(block) for block in as_list(content)]
    if not blocks or any(block.get("type") != "text" for block in blocks):
        return None
    return [as_text(block.get("text")) for block in blocks]


def _lines(block: JsonObject, names: Sequence[str]) -> list[str]:
    """Return what *block* says of its texts under these *names*, as one text or none."""
    said = [text for name in names if (text := as_text(block.get(name)))]
    return ["\n".join(said)] if said else []
