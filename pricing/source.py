"""Where a price came from, how its tokens were counted, and what both together are worth."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

PriceSource: TypeAlias = Literal[
    "operator",
    "local_power",
    "catalogue",
    "table",
    "catalogue_fuzzy",
    "inferred",
    "default",
]
"""Where a price came from, the best first.

The operator stated it; what power and a machine cost; a catalogue has this very model, or a table
has. The rest are guesses: a catalogue has one of the same family and about its size; the price was
inferred from what tables have, or from its size; it is assumed, for want of anything better.
"""

CostSource: TypeAlias = Literal["provider"] | PriceSource | Literal["unknown"]
"""Where the cost of a call came from: its provider told it, or a price did, or nobody knows it."""

SOURCES: Final[tuple[CostSource, ...]] = ("provider", *get_args(PriceSource), "unknown")
"""All of them, the best first."""

OWN: Final = frozenset({"operator", "local_power"})
"""The sources that are the operator's word."""

GUESSED: Final = frozenset({"catalogue_fuzzy", "inferred", "default"})
"""The sources whose prices are not those of the model itself."""

Tier: TypeAlias = Literal[
    "provider_reported",
    "exact_user_rate",
    "openrouter_rate",
    "exact_table_rate",
    "openrouter_fuzzy_rate",
    "inferred_table_rate",
    "default_fallback",
    "tokens_estimated_from_chars",
    "tokens_estimated_with_thinking_chars",
    "unknown",
]
"""How well an amount is known, in one word, the best first."""

TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
_OF_SOURCE: Final[dict[CostSource, Tier]] = {
    "provider": "provider_reported",
    "operator": "exact_user_rate",
    "local_power": "exact_user_rate",
    "catalogue": "openrouter_rate",
    "table": "exact_table_rate",
    "catalogue_fuzzy": "openrouter_fuzzy_rate",
    "inferred": "inferred_table_rate",
    "default": "default_fallback",
    "unknown": "unknown",
}


def worst(sources: list[CostSource]) -> CostSource:
    """Return the worst of *sources*: it holds for their sum. Nothing costs nothing."""
    return max(sources, key=SOURCES.index, default="operator")


def tier(source: CostSource, *, estimated: bool, thinking: bool) -> Tier:
    """Return how well an amount is known whose price came from *source*.

    *estimated* tells that its tokens were guessed from characters, *thinking* that a part of these
    was reasoning.
    """
    if source == "unknown" or not estimated:
        return _OF_SOURCE[source]
    return "tokens_estimated_with_thinking_chars" if thinking else "tokens_estimated_from_chars"


def worst_tier(tiers: list[Tier]) -> Tier:
    """Return the worst of *tiers*: it holds for their sum. Nothing costs nothing."""
    return max(tiers, key=TIERS.index, default="exact_user_rate")
