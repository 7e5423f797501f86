"""Prices as people write them: dollars per million tokens, in a configuration or in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pricing.price import RATES, Price, per_million

Rate = Annotated[Decimal, Field(ge=0, le=10**9, allow_inf_nan=False)]
Mode: TypeAlias = Literal["batch", "flex", "priority", "fast"]
"""How a provider can serve a call, other than as usual; as it calls it itself."""


class Rates(BaseModel):
    """US dollars per million tokens; ``per_request`` and ``image`` each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Rate
    output: Rate
    cache_read: Rate | None = None
    cache_write: Rate | None = None
    cache_write_1h: Rate | None = None
    reasoning: Rate | None = None
    audio_input: Rate | None = None
    audio_output: Rate | None = None
    image: Rate | None = None
    image_input: Rate | None = None
    image_output: Rate | None = None
    per_request: Rate | None = None

    def price(self) -> Price:
        """Return them as integers."""
        return per_million({name: getattr(self, name) for name in RATES})


class TierRates(Rates):
    """The rates of all of a call whose input is ``over`` so many tokens."""

    over: int = Field(gt=0)


class TieredRates(Rates):
    """Rates that may be others where a call's input is long."""

    tiers: tuple[TierRates, ...] = ()

    @model_validator(mode="after")
    def _ascending(self) -> TieredRates:
        starts = [tier.over for tier in self.tiers]
        if starts != sorted(set(starts)):
            raise ValueError("tiers must be in the order of `over`, each once")
        return self

    def price(self) -> Price:
        """Return them as integers."""
        tiers = tuple((tier.over, Rates.price(tier)) for tier in self.tiers)
        return replace(Rates.price(self), tiers=tiers)


class PriceRecord(TieredRates):
    """All that a model costs: its usual rates, and those of its other ``modes``."""

    modes: Mapping[Mode, TieredRates] = {}

    def price(self) -> Price:
        """Return it as integers."""
        modes = tuple((mode, rates.price()) for mode, rates in self.modes.items())
        return replace(TieredRates.price(self), modes=modes)
