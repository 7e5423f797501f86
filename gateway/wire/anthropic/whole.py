"""Writes one answer as the message object of the Messages API."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from gateway.wire.anthropic.cited import blocks_of
from gateway.wire.anthropic.said import called_id, message_id, reported, stop_reason
from gateway.wire.dialect import Summary, told
from techniques.core.arguments import arguments_object
from techniques.core.citation import within
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import (
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Text,
    Thinking,
    ToolCall,
)


def message_body(reply: Reply, summary: Summary, model: str, fallback_id: str) -> bytes:
    """Return the JSON of the message that *reply* is; its ``content`` may be empty."""
    message: JsonObject = {
        "id": message_id(reply.id, fallback_id),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(_content(reply)),
        "stop_reason": stop_reason(reply.finish_reason, refused=bool(reply.refusal)),
        "stop_sequence": reply.stop_sequence,
        "usage": reported(reply.usage, summary, reply.mode, reply.searches),
    }
    if reply.details is not None:
        message["stop_details"] = reply.details
    if summary.trace:
        message["lockgate"] = {"trace": [told(piece) for piece in summary.trace]}
    return orjson.dumps(message)


def _content(reply: Reply) -> Iterator[Json]:
    said = 0
    for part in reply.parts:
        if isinstance(part, Text):
            cited = within(reply.citations, said, said + len(part.text))
            yield from blocks_of(part.text, cited, said)
            said += len(part.text)
        elif (block := _block(part)) is not None:
            yield block


def _block(part: Part) -> Json:
    block: Json = None
    match part:
        case Refusal():
            block = {"type": "text", "text": part.text} if part.text else None
        case Thinking():
            signature = part.signature or ""
            block = {"type": "thinking", "thinking": part.text, "signature": signature}
        case RedactedThinking():
            block = {"type": "redacted_thinking", "data": part.data}
        case ToolCall():
            block = {"type": "tool_use", "id": called_id(part), "name": part.name}
            block["input"] = arguments_object(part.arguments)
        case Opaque(dialect="anthropic"):
            block = part.value
        case _:
            pass
    return block
