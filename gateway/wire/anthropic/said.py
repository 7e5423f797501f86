"""Usage, stop reasons and ids, as clients of this dialect know them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256

from gateway.wire.dialect import Summary, with_total
from gateway.wire.tiers import anthropics
from pricing.usage import Usage
from techniques.core.carried import carrying
from techniques.core.events import FinishReason, ToolCallStarted
from techniques.core.json import JsonObject
from techniques.core.request import ToolCall

_STOP_REASONS: Mapping[FinishReason, str] = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
    "refusal": "refusal",
    "pause": "pause_turn",
}
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


def stop_reason(reason: FinishReason, *, refused: bool) -> str:
    """Return the name of *reason* in this dialect.

    A provider that keeps refusals apart from the text ends them like any other answer.
    """
    return "refusal" if refused and reason == "stop" else _STOP_REASONS[reason]


def usage_object(usage: Usage, mode: str = "", searches: int = 0) -> JsonObject:
    """Return *usage* as this dialect counts: ``input_tokens`` without what the cache holds.

    *mode* is how the call was served, if its provider told, *searches* how often it looked.
    """
    written = usage.cache_write_tokens + usage.cache_write_1h_tokens
    counts: JsonObject = {
        "input_tokens": max(usage.input_tokens - usage.cache_read_tokens - written, 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    if written:
        counts["cache_creation"] = {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        }
    if usage.reasoning_tokens:
        counts["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    if searches:
        counts["server_tool_use"] = {"web_search_requests": searches, "web_fetch_requests": 0}
    return counts | anthropics(mode)


def reported(
    usage: Usage | None, summary: Summary, mode: str = "", searches: int = 0
) -> JsonObject:
    """Return the answer's own *usage*, with what the whole run came to beside it."""
    return with_total(
        usage_object(summary.usage if usage is None else usage, mode, searches),
        usage_object(summary.usage),
        summary,
    )


def message_id(own: str, fallback: str) -> str:
    """Return *own* if it has the form of a message id, else one made of *fallback*."""
    if own.startswith("msg_"):
        return own
    return "msg_" + _FOREIGN.sub("", fallback.removeprefix("req_"))


def called_id(call: ToolCall | ToolCallStarted) -> str:
    """Return the id of *call* for a client, with what its host must get back."""
    return carrying(tool_id(call.id), call.extra)


def tool_id(foreign: str) -> str:
    """Return *foreign* as clients may send it back: letters, digits, ``_`` and ``-`` only.

    The same id gives the same replacement; two that differ give two.
    """
    if foreign and not _FOREIGN.search(foreign):
        return foreign
    mark = sha256(foreign.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{_FOREIGN.sub('_', foreign)[:40]}_{mark}"
