"""Reads a map of models as LiteLLM has it: dollars per token, tiers and modes in the names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from pricing.table import RowRecord, row_or_none

_RATES: Final = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write",
    "cache_creation_input_token_cost_above_1hr": "cache_write_1h",
    "output_cost_per_reasoning_token": "reasoning",
    "input_cost_per_audio_token": "audio_input",
    "output_cost_per_audio_token": "audio_output",
    "input_cost_per_image_token": "image_input",
    "output_cost_per_image_token": "image_output",
    "input_cost_per_request": "per_request",
}
_MODES: Final = {
    "": "standard",
    "_batches": "batch",
    "_flex": "flex",
    "_priority": "priority",
}
_PART: Final = re.compile(
    r"(?P<rate>[a-z_0-9]+?)(?P<hour>_above_1hr)?(?:_above_(?P<over>\d+)k_tokens)?"
    r"(?P<mode>_batches|_flex|_priority)?"
)
_PROVIDERS: Final = {
    "gemini": "google",
    "vertex_ai": "google",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "xai": "x-ai",
    "bedrock": "aws",
    "bedrock_converse": "aws",
    "cohere_chat": "cohere",
    "azure_ai": "azure",
    "moonshot": "moonshotai",
}
_KINDS: Final = (None, "chat", "completion", "responses")


def fits(value: Any) -> bool:
    """Return whether *value* looks like such a map."""
    return isinstance(value, dict) and any(
        isinstance(item, dict) and "litellm_provider" in item for item in value.values()
    )


def rows(value: Any) -> Iterator[RowRecord]:
    """Yield the rows of *value*; what is no model that writes text is left out."""
    for name, item in value.items():
        if not isinstance(item, Mapping) or item.get("mode") not in _KINDS:
            continue
        owner = item.get("litellm_provider")
        if not isinstance(owner, str) or name == "sample_spec":
            continue
        provider = _PROVIDERS.get(owner, _PROVIDERS.get(owner.partition("-")[0], owner))
        bare = name.removeprefix(f"{owner}/")
        for mode, parts in _modes(item).items():
            usual = parts.pop(0, {})
            if "input" not in usual or "output" not in usual:
                continue
            tiers = [
                {"over": over, **usual, **rates} for over, rates in sorted(parts.items()) if over
            ]
            said = {"provider": provider, "model": bare, "mode": mode, **usual, "tiers": tiers}
            row = row_or_none(said)
            if row is not None:
                yield row


def _modes(item: Mapping[str, Any]) -> dict[str, dict[int, dict[str, Decimal]]]:
    """Return the rates of *item* by mode, and there by the size of the input from which on."""
    found: defaultdict[str, defaultdict[int, dict[str, Decimal]]]
    found = defaultdict(lambda: defaultdict(dict))
    for label, value in item.items():
        part = _PART.fullmatch(label)
        rate = part and _RATES.get(part["rate"] + (part["hour"] or ""))
        if part and rate and isinstance(value, int | float | Decimal) and value >= 0:
            amount = Decimal(str(value)) * (1 if rate == "per_request" else 1_000_000)
            found[_MODES[part["mode"] or ""]][int(part["over"] or 0) * 1000][rate] = amount
    return {mode: dict(tiers) for mode, tiers in found.items()}
