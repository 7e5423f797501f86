"""Turns neutral parts into content blocks."""

from __future__ import annotations

import re
from base64 import b64decode
from hashlib import sha256

from gateway.upstream.provider import Target
from gateway.upstream.providers.anthropic.headers import DIALECT
from gateway.upstream.providers.anthropic.losses import Losses, refuse
from gateway.upstream.providers.anthropic.uncited import uncited
from techniques.core.arguments import arguments_object
from techniques.core.json import JsonObject
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from techniques.core.signatures import details_of, is_anthropics

_DATA_URI = re.compile(r"data:([^;,]*)(?:;[^;,]*)*;base64,", re.IGNORECASE)
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def tool_id(own: str) -> str:
    """Return the id of a call as this provider takes it: letters, digits, ``_`` and ``-``.

    It depends on *own* alone, so a history gives the same ids each time and prompt caches stay
    warm; the hash keeps ids apart that differ only in what was replaced.
    """
    if own and not _FOREIGN.search(own):
        return own
    mark = sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_FOREIGN.sub('_', own)[:40]}_{mark}"


class Parts:
    """Writes the parts of one request."""

    def __init__(self, target: Target, losses: Losses) -> None:
        self._target = target
        self._losses = losses

    def blocks(self, parts: tuple[Part, ...]) -> list[JsonObject]:
        """Return the blocks of *parts*; text without a visible character is none."""
        return [block for part in parts if (block := self._block(part)) is not None]

    def _block(self, part: Part) -> JsonObject | None:
        match part:
            case Text():
                return self._text(part)
            case Image() | Document() | Audio():
                return self._media(part)
            case ToolCall() | ToolResult():
                return self._tool(part)
            case Thinking() | RedactedThinking():
                return self._thinking(part)
            case _:
                return self._other(part)

    def _text(self, part: Text) -> JsonObject | None:
        if not part.text.strip():
            return None
        return uncited(self._marked({"type": "text", "text": part.text}, part))

    def _media(self, part: Image | Document | Audio) -> JsonObject:
        if isinstance(part, Audio):
            refuse("input_audio", "this provider takes no sound")
        if isinstance(part, Image):
            return self._image(part)
        block: JsonObject = {"type": "document", "source": self._document_source(part)}
        if part.name is not None:
            block["title"] = part.name
        return self._marked(block, part)

    def _image(self, part: Image) -> JsonObject:
        if not self._target.capabilities.vision:
            refuse("image_url", f"{self._target.shown} cannot see images")
        if part.detail not in {None, "auto"}:
            self._losses.note("field_dropped", "image_url.detail")
        return self._marked({"type": "image", "source": self._image_source(part)}, part)

    def _image_source(self, part: Image) -> JsonObject:
        if part.data is not None:
            media_type = part.media_type or "image/png"
            return {"type": "base64", "media_type": media_type, "data": part.data}
        if part.file_id is not None:
            return self._file(part.file_id)
        url = part.url or ""
        found = _DATA_URI.match(url)
        if found is None:
            return {"type": "url", "url": url}
        media_type = found[1] or "image/png"
        return {"type": "base64", "media_type": media_type, "data": url[found.end() :]}

    def _document_source(self, part: Document) -> JsonObject:
        if part.text is not None:
            return {"type": "text", "media_type": "text/plain", "data": part.text}
        if part.file_id is not None:
            return self._file(part.file_id)
        if part.data is None:
            return {"type": "url", "url": part.url or ""}
        found = _DATA_URI.match(part.data)
        data = part.data[found.end() :] if found else part.data
        media_type = (found[1] if found else part.media_type) or "application/pdf"
        if media_type.startswith("text/"):
            return {"type": "text", "media_type": "text/plain", "data": _decoded(data)}
        return {"type": "base64", "media_type": media_type, "data": data}

    def _file(self, file_id: str) -> JsonObject:
        if not self._losses.own:
            refuse("file_id", "the file is at another provider")
        return {"type": "file", "file_id": file_id}

    def _tool(self, part: ToolCall | ToolResult) -> JsonObject:
        if isinstance(part, ToolCall):
            block: JsonObject = {"type": "tool_use", "id": tool_id(part.id), "name": part.name}
            block["input"] = arguments_object(part.arguments)
            return self._marked(block, part)
        block = {"type": "tool_result", "tool_use_id": tool_id(part.call_id)}
        content = self.blocks(part.parts)
        if content:
            only = content[0] if len(content) == 1 else {}
            plain = only.keys() == {"type", "text"}
            block["content"] = only["text"] if plain else content
        if part.is_error:
            block["is_error"] = True
        return self._marked(block, part)

    def _thinking(self, part: Thinking | RedactedThinking) -> JsonObject | None:
        if isinstance(part, RedactedThinking) and details_of(part.data) is None:
            return {"type": "redacted_thinking", "data": part.data}
        if isinstance(part, Thinking) and is_anthropics(part.signature):
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        self._losses.note("thinking_dropped", "messages")
        return None

    def _other(self, part: Part) -> JsonObject | None:
        if isinstance(part, Refusal):
            return self._text(Text(part.text))
        if isinstance(part, Opaque) and part.dialect == DIALECT and isinstance(part.value, dict):
            return part.value
        value = part.value if isinstance(part, Opaque) else None
        kind = value.get("type") if isinstance(value, dict) else type(part).__name__.lower()
        return refuse("messages", f"content of this kind ({kind}) cannot be said to this provider")

    def _marked(
        self, block: JsonObject, part: Text | Image | Document | ToolCall | ToolResult
    ) -> JsonObject:
        if part.cache is not None:
            block["cache_control"] = part.cache
        block.update(self._losses.extra(part.extra, "messages"))
        return block


def _decoded(data: str) -> str:
    try:
        return b64decode(data).decode("utf-8", "replace")
    except ValueError:
        refuse("file_data", "it is no base64")
