"""The list price of a model, and which part of it a call is charged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Final

from pricing.source import PriceSource

PICO = Decimal(10) ** 12
_A_PIECE: Final = ("per_request", "image")
_BESIDE: Final = ("source", "name", "caveats", "tiers", "modes", "until", "then", "firm")


@dataclass(frozen=True, slots=True)
class Price:
    """What one token costs, in picodollars (1e-12 US dollars): integers, so that sums are exact.

    A dollar per million tokens is 1,000,000 picodollars per token. ``None`` means that the
    provider states no rate of its own: cache reads and writes, audio and image input, then cost
    what input costs (an hour's cache write what a five minutes' one costs), reasoning, audio and
    image output what output costs. ``per_request`` is picodollars for each call, ``image`` for each
    picture sent. ``source`` tells where it came from, ``name`` which row of the price book it is.

    Attributes:
        caveats: What the row itself cannot say; see ``pricing.charge``.
        tiers: What all of a call costs whose input is over so many tokens, the least first.
        modes: What a call costs that the provider served in another way than the usual.
        until: Seconds since the epoch from which on it is ``then`` that holds.
        firm: Limits in money may rely on it; of a guess they may if the operator says so.
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
    image: int = 0
    image_input: int | None = None
    image_output: int | None = None
    caveats: tuple[str, ...] = ()
    tiers: tuple[tuple[int, Price], ...] = ()
    modes: tuple[tuple[str, Price], ...] = ()
    until: float | None = None
    then: Price | None = None
    firm: bool = True

    def within(self, input_tokens: int) -> Price:
        """Return the price of a call with *input_tokens* in all."""
        found = self
        for over, price in self.tiers:
            if input_tokens > over:
                found = price
        return found

    def served(self, mode: str) -> Price | None:
        """Return the price of a call that was served in *mode*, None if that is not known."""
        return dict(self.modes).get(mode)

    def at(self, moment: float) -> Price:
        """Return the price that holds at *moment*, seconds since the epoch."""
        found = self
        while found.then is not None and found.until is not None and moment >= found.until:
            found = found.then
        return found

    def called(self, name: str, source: PriceSource, caveats: tuple[str, ...] = ()) -> Price:
        """Return it as the row *name* of a book; what is a part of it is named after it."""
        return replace(
            self,
            name=name,
            source=source,
            caveats=(*self.caveats, *caveats),
            tiers=tuple(
                (over, price.called(f"{name}>{over}", source, caveats))
                for over, price in self.tiers
            ),
            modes=tuple(
                (mode, price.called(f"{name}#{mode}", source, caveats))
                for mode, price in self.modes
            ),
        )


RATES: Final = tuple(field.name for field in fields(Price) if field.name not in _BESIDE)
"""The names of what can be charged for."""


def per_million(rates: Mapping[str, Decimal | None]) -> Price:
    """Return the price whose *rates* are given in US dollars per million tokens.

    ``per_request`` and ``image`` alone are in US dollars a piece.

    Raises:
        TypeError: *rates* lacks ``input`` or ``output``, or names a rate that does not exist.
    """
    whole: dict[str, Any] = {
        name: int(rate * (PICO if name in _A_PIECE else 1_000_000))
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
