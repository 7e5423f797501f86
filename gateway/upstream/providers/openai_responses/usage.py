"""Reads what an answer says of its tokens."""

from __future__ import annotations

from typing import Final

from gateway.upstream.openai.payload import as_object, as_text, count, within
from pricing.usage import Usage, is_count
from techniques.core.events import UsageReported
from techniques.core.json import Json, JsonObject

_WHOLES: Final = ("input_tokens", "output_tokens")
_INPUTS: Final = ("cached_tokens", "cache_write_tokens", "audio_tokens", "image_tokens")
_OUTPUTS: Final = ("reasoning_tokens", "audio_tokens", "image_tokens")


def usage_of(value: Json) -> Usage | None:
    """Return the counts in a ``usage`` object, None if there is none.

    Some hosts leave reasoning out of ``output_tokens``; then only the total has it.
    """
    if not isinstance(value, dict) or not value:
        return None
    given, output = count(value, "input_tokens"), count(value, "output_tokens")
    hidden = max(0, count(value, "total_tokens") - given - output) if given else 0
    inputs = as_object(value.get("input_tokens_details"))
    outputs = as_object(value.get("output_tokens_details"))
    thought = count(outputs, "reasoning_tokens")
    if thought > output + hidden:
        hidden = thought
    output += hidden
    cached, written, heard, seen = within(given, *(count(inputs, name) for name in _INPUTS))
    reasoning, spoken, drawn = within(
        output, max(hidden, thought), *(count(outputs, name) for name in _OUTPUTS[1:])
    )
    return Usage(
        input_tokens=given,
        output_tokens=output,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning,
        audio_input_tokens=heard,
        audio_output_tokens=spoken,
        image_input_tokens=seen,
        image_output_tokens=drawn,
        faulty=_is_faulty(value, inputs, outputs),
    )


def report_of(response: JsonObject) -> UsageReported | None:
    """Return what *response* tells of its tokens, of its searches, and of how it was served."""
    usage = usage_of(response.get("usage"))
    if usage is None:
        return None
    searched = count(
        as_object(as_object(response.get("tool_usage")).get("web_search")), "num_requests"
    )
    return UsageReported(usage, as_text(response.get("service_tier")), searches=searched)


def _is_faulty(value: JsonObject, inputs: JsonObject, outputs: JsonObject) -> bool:
    """Return whether a count is none; null says that there is none of a part."""
    if not all(is_count(value[name]) for name in _WHOLES if name in value):
        return True
    parts = [value["total_tokens"]] if "total_tokens" in value else []
    parts += [inputs[name] for name in _INPUTS if name in inputs]
    parts += [outputs[name] for name in _OUTPUTS if name in outputs]
    return not all(part is None or is_count(part) for part in parts)
