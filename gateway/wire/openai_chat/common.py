"""What streamed and whole answers have in common."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from uuid import uuid4

from gateway.wire.dialect import Call, Summary, with_total
from gateway.wire.openai_chat.fields import NAME
from pricing.usage import Usage
from techniques.core.citation import Citation
from techniques.core.events import FinishReason
from techniques.core.json import Json, JsonObject

_REASONS: dict[FinishReason, str] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "pause": "stop",
}


def is_legacy(call: Call) -> bool:
    """Return whether the client still speaks of functions, not tools."""
    body = call.relay.body
    return bool(body.get("functions")) and not body.get("tools")


def thought(call: Call, text: str) -> JsonObject:
    """Return the *text* of reasoning in the fields that the client reads.

    Who asks for it in OpenRouter's words, ``reasoning``, reads it under that name alone.
    """
    said: JsonObject = {"reasoning_content": text}
    return (
        {**said, "reasoning": text} if isinstance(call.relay.body.get("reasoning"), dict) else said
    )


def reason_of(reason: FinishReason, *, legacy: bool = False) -> str:
    """Return OpenAI's word for *reason*."""
    return "function_call" if legacy and reason == "tool_calls" else _REASONS[reason]


def answer_id(provided: str, request_id: str) -> str:
    """Return the provider's own id where it has OpenAI's form, else one made of *request_id*."""
    if provided.startswith("chatcmpl"):
        return provided
    return "chatcmpl-" + (re.sub(r"[^A-Za-z0-9_-]", "", request_id or provided) or uuid4().hex)


def created() -> int:
    """Return the time, in seconds since the epoch."""
    return int(datetime.now(UTC).timestamp())


def annotation(citation: Citation) -> Json:
    """Return *citation* as an annotation, None if there is none for it."""
    own = citation.own
    if own is not None and own.dialect == NAME:
        return own.value
    if not citation.url:
        return None
    named = {"url": citation.url, "title": citation.title}
    place = {"start_index": citation.start, "end_index": citation.end}
    return {"type": "url_citation", "url_citation": {**place, **named}}


def usage_of(usage: Usage) -> JsonObject:
    """Return OpenAI's ``usage`` object; what few hosts count is in it where there is any."""
    written = usage.cache_write_tokens + usage.cache_write_1h_tokens
    rare = {"cache_write_tokens": written, "image_tokens": usage.image_input_tokens}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "audio_tokens": usage.audio_input_tokens,
            **{name: count for name, count in rare.items() if count},
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": usage.audio_output_tokens,
        },
    }


def reported(usage: Usage | None, summary: Summary) -> JsonObject:
    """Return the answer's own *usage*, with what the whole run came to beside it."""
    return with_total(
        usage_of(summary.usage if usage is None else usage), usage_of(summary.usage), summary
    )
