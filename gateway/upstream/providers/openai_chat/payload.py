"""Reads the JSON that hosts send, also where it is not quite JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal

import orjson

from pricing.cost import MOST
from pricing.price import PICO
from pricing.usage import Usage, counted, is_count
from techniques.core.events import UsageReported
from techniques.core.json import NOTHING, Json, JsonObject

DIALECT = "openai_chat"
_OF_INPUT = ("cache_write", "audio", "image")
_WHOLES = ("prompt_tokens", "completion_tokens")
_TOLD = ("total_tokens", "prompt_cache_hit_tokens")
_PARTS = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "audio_tokens", "image_tokens")
_MOST_DOLLARS = MOST / PICO
"""More than any call costs: an amount beyond is a fault of the host's."""


def read(data: bytes) -> tuple[Json, bool]:
    """Return the value in *data*, and whether it had to be mended to be strict JSON.

    ``NaN`` and infinities become null, bytes that are no UTF-8 and lone surrogates U+FFFD.

    Raises:
        ValueError: Not even that makes it JSON.
    """
    try:
        return orjson.loads(data), False
    except ValueError:
        text = data.decode("utf-8", "replace")
    try:
        return _clean(json.loads(text, parse_constant=lambda _: None, strict=False)), True
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def as_object(value: Json) -> JsonObject:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_index(value: Json) -> int | None:
    """Return *value* if it is a whole number, also one that is written otherwise than as such."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def usage_of(value: Json) -> Usage | None:
    """Return the counts in a ``usage`` object, None if there is none.

    Some hosts leave reasoning out of ``completion_tokens``; then only the total has it.
    """
    if not isinstance(value, dict) or not value:
        return None
    prompt, completion = _count(value, "prompt_tokens"), _count(value, "completion_tokens")
    hidden = max(0, _count(value, "total_tokens") - prompt - completion) if prompt else 0
    inputs = value.get("prompt_tokens_details") or NOTHING
    outputs = value.get("completion_tokens_details") or NOTHING
    if not inputs and not outputs and not hidden and "prompt_cache_hit_tokens" not in value:
        usage = Usage(prompt, completion)
    else:
        usage = _detailed(value, prompt, completion, hidden)
    return replace(usage, faulty=True) if _is_faulty(value) else usage


def report_of(answer: JsonObject) -> UsageReported | None:
    """Return what *answer*, or a chunk of one, tells of its tokens and its cost, if anything."""
    told = as_object(answer.get("usage"))
    usage = usage_of(told)
    if usage is None:
        return None
    charged = _charged(told) if "cost" in told else None
    return UsageReported(usage, as_text(answer.get("service_tier")), charged)


def _charged(usage: JsonObject) -> int | None:
    """Return the picodollars that a host says a call costs, as OpenRouter does.

    With a key of the caller's own, what that is charged comes on top of the host's fee.
    """
    amounts = [usage.get("cost")]
    if usage.get("is_byok"):
        amounts.append(as_object(usage.get("cost_details")).get("upstream_inference_cost"))
    known = [Decimal(str(amount)) for amount in amounts if _is_amount(amount)]
    return round(sum(known) * PICO) if len(known) == len(amounts) else None


def _is_amount(value: Json) -> bool:
    return type(value) in (int, float) and 0 <= value <= _MOST_DOLLARS


def _detailed(value: JsonObject, prompt: int, completion: int, hidden: int) -> Usage:
    """Return the counts with their parts, which are never more than the whole.

    More reasoning than output can only have been left out of it.
    """
    inputs = as_object(value.get("prompt_tokens_details"))
    outputs = as_object(value.get("completion_tokens_details"))
    thought = _count(outputs, "reasoning_tokens")
    if thought > completion + hidden:
        hidden = thought
    output, reasoning = completion + hidden, max(hidden, thought)
    cached = _count(inputs, "cached_tokens") or _count(value, "prompt_cache_hit_tokens")
    written, heard, seen = (_count(inputs, f"{name}_tokens") for name in _OF_INPUT)
    cached, written, heard, seen = _within(prompt, cached, written, heard, seen)
    reasoning, spoken, drawn = _within(
        output, reasoning, _count(outputs, "audio_tokens"), _count(outputs, "image_tokens")
    )
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        audio_input_tokens=heard,
        audio_output_tokens=spoken,
        image_input_tokens=seen,
        image_output_tokens=drawn,
    )


def _is_faulty(value: JsonObject) -> bool:
    """Return whether a count in *value* is none; null says that there is none of a part."""
    if not all(is_count(value[name]) for name in _WHOLES if name in value):
        return True
    parts = [value[name] for name in _TOLD if name in value]
    for details in ("prompt_tokens_details", "completion_tokens_details"):
        if detail := as_object(value.get(details)):
            parts += [detail[name] for name in _PARTS if name in detail]
    return not all(part is None or is_count(part) for part in parts)


def _within(whole: int, *parts: int) -> list[int]:
    """Return *parts*, each at most what those before it have left of *whole*."""
    found = []
    for part in parts:
        found.append(min(part, whole))
        whole -= found[-1]
    return found


def _count(counts: JsonObject, name: str) -> int:
    return counted(counts.get(name))


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return None  # no writer of JSON takes it
    return None if value in {float("inf"), float("-inf")} else value
