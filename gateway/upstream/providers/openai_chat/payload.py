"""Reads what an answer says of its tokens and its cost."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from gateway.upstream.openai.payload import as_object, as_text, count, within
from pricing.cost import MOST
from pricing.price import PICO
from pricing.usage import Usage, is_count
from techniques.core.events import UsageReported
from techniques.core.json import Json, JsonObject

DIALECT = "openai_chat"
_DETAILS = ("prompt_tokens_details", "completion_tokens_details")
_OF_INPUT = ("cache_write", "audio", "image")
_WHOLES = ("prompt_tokens", "completion_tokens")
_TOLD = ("total_tokens", "prompt_cache_hit_tokens")
_PARTS = ("cached_tokens", "cache_write_tokens", "reasoning_tokens", "audio_tokens", "image_tokens")
_MOST_DOLLARS = MOST / PICO
"""More than any call costs: an amount beyond is a fault of the host's."""


def usage_of(value: Json) -> Usage | None:
    """Return the counts in a ``usage`` object, None if there is none.

    Some hosts leave reasoning out of ``completion_tokens``; then only the total has it.
    """
    if not isinstance(value, dict) or not value:
        return None
    prompt, completion = count(value, "prompt_tokens"), count(value, "completion_tokens")
    hidden = max(0, count(value, "total_tokens") - prompt - completion) if prompt else 0
    details = [as_object(value.get(name)) for name in _DETAILS]
    if hidden or value.get("prompt_cache_hit_tokens") or any(map(_has_some, details)):
        usage = _detailed(value, prompt, completion, hidden)
    else:
        usage = Usage(prompt, completion)
    return replace(usage, faulty=True) if _is_faulty(value, details) else usage


def _has_some(details: JsonObject) -> bool:
    return any(details.values())


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
    thought = count(outputs, "reasoning_tokens")
    if thought > completion + hidden:
        hidden = thought
    output, reasoning = completion + hidden, max(hidden, thought)
    cached = count(inputs, "cached_tokens") or count(value, "prompt_cache_hit_tokens")
    written, heard, seen = (count(inputs, f"{name}_tokens") for name in _OF_INPUT)
    cached, written, heard, seen = within(prompt, cached, written, heard, seen)
    reasoning, spoken, drawn = within(
        output, reasoning, count(outputs, "audio_tokens"), count(outputs, "image_tokens")
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


def _is_faulty(value: JsonObject, details: list[JsonObject]) -> bool:
    """Return whether a count in *value* is none; null says that there is none of a part."""
    for name in _WHOLES:
        if name in value and not is_count(value[name]):
            return True
    for parts, names in ((value, _TOLD), *((detail, _PARTS) for detail in details if detail)):
        for name in names:
            part = parts.get(name)
            if part is not None and not is_count(part):
                return True
    return False
