"""The list price of a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pricing.source import PriceSource

PICO = Decimal(10) ** 12


@dataclass(frozen=True, slots=True)
class Price:
    """What one token costs, in picodollars (1e-12 US dollars): integers, so that sums are exact.

    A dollar per million tokens is 1,000,000 picodollars per token. ``None`` means that the
    provider states no rate of its own: cache reads and writes, and audio input, then cost what
    input costs (an hour's cache write what a five minutes' one costs), reasoning and audio output
    what output costs. ``per_request`` is picodollars for each call. ``source`` tells where it came
    from, ``name`` which row of the price book it is.
    """

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    cache_write_1h: int | None = None
    reasoning: int | None = None
    audio_input: int | None = None
    audio_output: int | None = None
    per_request: int = 0
    source: PriceSource = "operator"
    name: str = ""


def per_million(rates: Mapping[str, Decimal | None]) -> Price:
    """Return the price whose *rates* are given in US dollars per million tokens.

    ``per_request`` alone is in US dollars a call.

    Raises:
        TypeError: *rates* lacks ``input`` or ``output``, or names a rate that does not exist.
    """
    whole: dict[str, Any] = {
        name: int(rate * (PICO if name == "per_request" else 1_000_000))
        for name, rate in rates.items()
        if rate is not None
    }
    return Price(**whole)


def costlier(price: Price | None, other: Price | None) -> float | None:
    """Return how many times what *other* asks for a token of output *price* asks.

    None if one of them is not known, or *other* asks nothing.
    """
    if price is None or other is None or not other.output:
        return None
    return price.output / other.output
