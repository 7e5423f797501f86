"""What the documents show of prices: where they come from, how well they are known, what is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pricing.charge import CAVEATS
from pricing.source import GUESSED, SOURCES, TIERS, CostSource, Tier, tier

_MEANINGS: Final[dict[CostSource, str]] = {
    "provider": "The provider told with its answer what it charges (OpenRouter does).",
    "operator": "`price` of the model, or your own file `pricing.prices`.",
    "local_power": "`local_power` of the model: what power and the machine cost.",
    "catalogue": "The catalogue (`pricing.catalogue`) has this model.",
    "table": "A table has this model: an imported one (`pricing.tables`), or the shipped one.",
    "catalogue_fuzzy": (
        "The catalogue has one of the same family whose size differs by a fifth or less."
    ),
    "inferred": (
        "The base of a fine-tuned model; the longest listed name that this one begins with; else "
        "by the parameters that the name tells."
    ),
    "default": "2 dollars in, 8 out: assumed, for want of anything better.",
    "unknown": "Nobody says. The cost is null, never 0.",
}
_COUNTED: Final[dict[Tier, str]] = {
    "tokens_estimated_from_chars": "The provider counted no tokens; four characters are one.",
    "tokens_estimated_with_thinking_chars": "The same, and a part of them was reasoning.",
}
SOURCE_HEAD: Final = ("source", "its price", "may count for budgets")
TIER_HEAD: Final = ("tier", "of costs whose source is")
CAVEAT_HEAD: Final = ("caveat", "meaning")


def sources() -> Iterator[tuple[str, str, str]]:
    """Yield where costs come from, the best first."""
    for source in SOURCES:
        counts = "no" if source == "unknown" else "`guess: budget`" if source in GUESSED else "yes"
        yield f"`{source}`", _MEANINGS[source], counts


def tiers() -> Iterator[tuple[str, str]]:
    """Yield how well an amount may be known, the best first."""
    for one in TIERS:
        of = [s for s in SOURCES if tier(s, estimated=False, thinking=False) == one]
        yield f"`{one}`", ", ".join(f"`{source}`" for source in of) or _COUNTED[one]


def caveats() -> Iterator[tuple[str, str]]:
    """Yield what a cost may not have right."""
    for name, meaning in CAVEATS.items():
        yield f"`{name}`", meaning
