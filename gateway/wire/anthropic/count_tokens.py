"""How many tokens a request has, by rule of thumb: for providers that cannot count.

The rule: four characters make a token, of text as of the JSON of tools and calls; a picture
costs 1,600 (about what Anthropic charges for one of the largest size it keeps), a PDF 3,000 a
page at a guessed 50 kB; each turn four more for its frame. English prose comes out within a
fifth or so; other scripts are underestimated. The result is for planning, never for a bill.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from gateway.wire.anthropic.head import decode_count
from gateway.wire.dialect import Call
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Document,
    Image,
    Opaque,
    Part,
    RedactedThinking,
    Request,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)

_CHARACTERS = 4  # a token
_IMAGE = 1600
_PAGE, _PAGE_CHARACTERS = 3000, 66_000  # base64 of 50 kB
_TURN = 4


def encode_count(tokens: int) -> bytes:
    """Return the body of the answer to ``POST /v1/messages/count_tokens``."""
    return orjson.dumps({"input_tokens": tokens})


def decode(body: JsonObject, raw: bytes) -> Call:
    """Return the call of ``POST /v1/messages/count_tokens``: a request without ``max_tokens``.

    Raises:
        RequestRejected: *body* is no such request.
    """
    return decode_count(body, raw)


def estimate(request: Request) -> int:
    """Return about how many input tokens *request*, in its full form, has; at least 1."""
    total = sum(_TURN + _parts(message.parts) for message in request.messages)
    total += sum(_tool(tool) for tool in request.tools)
    form = request.response_format
    if form is not None and form.schema is not None:
        total += _json(form.schema)
    return max(total, 1)


def _parts(parts: Iterable[Part]) -> int:
    return sum(_part(part) for part in parts)


def _part(part: Part) -> int:
    match part:
        case Image():
            return _IMAGE
        case Document():
            return _document(part)
        case ToolResult():
            return _TURN + _parts(part.parts)
        case Opaque():
            return _json(part.value)
        case _:
            return _characters(_words(part))


def _words(part: Part) -> int:
    match part:
        case ToolCall():
            return len(part.name) + len(part.arguments)
        case Thinking():
            return len(part.text) + len(part.signature or "")
        case RedactedThinking():
            return len(part.data)
        case _:
            return len(getattr(part, "text", ""))


def _document(part: Document) -> int:
    if part.text is not None:
        return _characters(len(part.text))
    return _PAGE * max(1, len(part.data or "") // _PAGE_CHARACTERS)


def _tool(tool: Tool | Opaque) -> int:
    if isinstance(tool, Opaque):
        return _json(tool.value)
    return _characters(len(tool.name) + len(tool.description or "")) + _json(tool.parameters or {})


def _json(value: Json) -> int:
    return _characters(len(orjson.dumps(value)))


def _characters(count: int) -> int:
    return -(-count // _CHARACTERS)
