"""What streamed and whole answers have in common."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

import orjson

from gateway.wire.dialect import Call, Summary
from gateway.wire.ollama.fields import GENERATE, is_over
from pricing.usage import Usage
from techniques.core.arguments import arguments_object
from techniques.core.carried import carrying
from techniques.core.events import FinishReason
from techniques.core.json import Json, JsonObject
from techniques.core.lines import escaped
from techniques.core.request import ToolCall

_REASONS: Final[dict[FinishReason, str]] = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "stop",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "pause": "stop",
}
_NS: Final = 1_000_000_000
GAP: Final = "\n\n"
"""Stands between what was said and why no more is: both are text here."""


def one_line(told: bytes) -> bytes:
    """Return the JSON *told* as a line that clients take for one."""
    return escaped(told) + b"\n"


def asked_name(call: Call) -> Json:
    """Return the model's name as the client wrote it."""
    return call.relay.body["model"]


def now() -> bytes:
    """Return the time as JSON, as this API writes it."""
    return orjson.dumps(datetime.now(UTC), option=orjson.OPT_UTC_Z)


def calls_of(calls: Sequence[ToolCall]) -> list[JsonObject]:
    """Return tool calls; their arguments are objects here."""
    return [
        {
            "id": carrying(call.id, call.extra),
            "function": {
                "index": place,
                "name": call.name,
                "arguments": arguments_object(call.arguments),
            },
        }
        for place, call in enumerate(calls)
    ]


def logprobs_of(told: Json) -> JsonObject:
    """Return the field of the log-probabilities that were *told* in OpenAI's words, if any."""
    tokens = told.get("content") if isinstance(told, dict) else None
    return {"logprobs": tokens} if tokens else {}


def ending(call: Call, reason: FinishReason, usage: Usage | None, summary: Summary) -> JsonObject:
    """Return the fields that end an answer: why, after how long, with how many tokens."""
    beside = lockgate(summary)
    if call.idle:
        over = is_over(call.relay.body.get("keep_alive"))
        return {"done": True, "done_reason": "unload" if over else "load", **beside}
    own = summary.usage if usage is None or summary.total else usage
    counts = {"prompt_eval_count": own.input_tokens, "eval_count": own.output_tokens}
    times = _durations(summary, streamed=call.streamed)
    memory: JsonObject = {"context": []} if call.dialect == GENERATE else {}
    why = {"done": True, "done_reason": _REASONS[reason]}
    return {**why, **memory, **times, **counts, **beside}


def _durations(summary: Summary, *, streamed: bool) -> JsonObject:
    """Return what was measured, in nanoseconds.

    ``load`` is what the call was held at a rate limit, ``prompt_eval`` what went by from then to
    the first of the answer, ``eval`` from there to its end. Where it was not streamed, nobody saw
    its first: all is ``eval``.
    """
    times = summary.times
    begun_s = times.begun_s if streamed and times.begun_s is not None else 0.0
    held_s = min(times.paused_s, begun_s if streamed else times.total_s)
    read_s = max(begun_s - held_s, 0.0)
    return {
        **spent(summary),
        "load_duration": round(held_s * _NS),
        "prompt_eval_duration": round(read_s * _NS),
        "eval_duration": round(max(times.total_s - held_s - read_s, 0.0) * _NS),
    }


def spent(summary: Summary) -> JsonObject:
    """Return how long a request took, and how much of it a rate limit held it."""
    times = summary.times
    held_s = min(times.paused_s, times.total_s)
    total, held = round(times.total_s * _NS), round(held_s * _NS)
    return {"total_duration": total, "load_duration": held}


def lockgate(summary: Summary) -> JsonObject:
    """Return what the whole run came to, where the client is to be told."""
    if summary.trailer is None:
        return {}
    used = summary.usage
    counts = {"prompt_eval_count": used.input_tokens, "eval_count": used.output_tokens}
    return {"lockgate": {**summary.trailer, **counts}}
