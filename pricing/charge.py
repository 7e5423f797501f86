"""What one call is charged: by which row, and what of the call that row does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from pricing.cost import MOST, cost
from pricing.price import Price
from pricing.record import record
from pricing.source import OWN, CostSource
from pricing.usage import Usage

CAVEATS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "audio_at_text_rate": "Audio tokens were charged as text: the row has no rate for them.",
        "cache_read_at_input_rate": (
            "Tokens read from the provider's cache were charged in full: the row has no rate for "
            "them."
        ),
        "cache_write_1h_at_5m_rate": (
            "Tokens written to the cache for an hour were charged as for five minutes: the row has "
            "no rate for them."
        ),
        "cache_write_at_input_rate": (
            "Tokens written to the provider's cache were charged as input: the row has no rate for "
            "them."
        ),
        "fine_tune_at_base_rate": "The price of a fine-tuned model is guessed: that of its base.",
        "image_at_text_rate": "Drawn images were charged as text: the row has no rate for them.",
        "listed_by_reseller": "The row is a reseller's, who lists this model at its maker's price.",
        "over_a_million_dollars": (
            "The call came to more than a million dollars, which none costs; a million was charged."
        ),
        "peak_rate": "The provider is cheaper at some hours; the dearer rate is charged always.",
        "service_tier_unpriced": (
            "The provider served the call in a way that the row has no rates for; the standard "
            "ones were charged."
        ),
    }
)
"""What a cost may not have right, by name."""

_STANDARD: Final = frozenset({"", "default", "standard", "auto", "on_demand"})


@record(frozen=True, slots=True)
class Charge:
    """Picodollars, the name of the row that they were worked out by, its source and its caveats."""

    cost: int
    price: str
    source: CostSource
    caveats: tuple[str, ...] = ()


UNSENT: Final = Charge(0, "", "operator")
"""Of a call that was never sent: it costs nothing, whatever its model does."""


def charge(usage: Usage, price: Price, mode: str = "", *, at: float) -> Charge:
    """Return what a call is charged that began *at* so many seconds since the epoch.

    *mode* is what the provider called the way in which it served it, empty if it did not tell.
    """
    row = price if price.then is None else price.at(at)
    unpriced = False
    if mode not in _STANDARD:
        served = row.served(mode)
        unpriced = served is None
        row = served or row
    if row.tiers:
        row = row.within(usage.input_tokens)
    caveats = (*row.caveats, *_unfit(usage, row)) if _has_parts(usage) else row.caveats
    if unpriced:
        caveats = (*caveats, "service_tier_unpriced")
    owed = cost(usage, row)
    if owed == MOST:
        caveats = (*caveats, "over_a_million_dollars")
    return Charge(owed, row.name, row.source, caveats)


def charged(
    usage: Usage, price: Price | None, mode: str = "", told: int | None = None, *, at: float
) -> Charge | None:
    """Return what a call is charged, None if that is not known: it is never zero then.

    *told* are the picodollars that its provider says it costs; they count before all but what the
    operator states. A call that used nothing costs nothing, whatever a request costs.
    """
    if told is not None and (price is None or price.source not in OWN):
        return Charge(min(told, MOST), "provider", "provider")
    if price is None:
        return None  # what a failed call costs is not known either
    if usage.is_nothing:
        return Charge(0, price.at(at).name, price.source)
    return charge(usage, price, mode, at=at)


def _has_parts(usage: Usage) -> bool:
    """Return whether something of *usage* may have a rate of its own."""
    return bool(
        usage.cache_read_tokens
        or usage.cache_write_tokens
        or usage.cache_write_1h_tokens
        or usage.audio_input_tokens
        or usage.audio_output_tokens
        or usage.image_output_tokens
    )


def _unfit(usage: Usage, row: Price) -> Iterator[str]:
    """Yield what was charged at another rate for want of its own."""
    if usage.cache_read_tokens and row.cache_read is None:
        yield "cache_read_at_input_rate"
    if usage.cache_write_tokens and row.cache_write is None:
        yield "cache_write_at_input_rate"
    if usage.cache_write_1h_tokens and row.cache_write_1h is None:
        yield (
            "cache_write_at_input_rate" if row.cache_write is None else "cache_write_1h_at_5m_rate"
        )
    spoken = usage.audio_input_tokens > 0 and row.audio_input is None
    if spoken or (usage.audio_output_tokens > 0 and row.audio_output is None):
        yield "audio_at_text_rate"
    if usage.image_output_tokens > 0 and row.image_output is None:
        yield "image_at_text_rate"
