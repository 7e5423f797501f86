"""What a model costs: as stated, by the power that it takes, or as the simulation makes up."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from gateway.config import ModelConfig, ProviderConfig
from gateway.config.llama_cpp import LocalPowerConfig
from gateway.upstream.simulated.settings import MODELS as SIMULATED
from pricing.local_power import hourly_of_power, local_price
from pricing.price import Price, per_million


def price_of(row: ModelConfig, account: ProviderConfig) -> Price | None:
    """Return what *row* at *account* costs, None if nobody says."""
    if row.price is not None:
        stated = per_million(row.price.model_dump(exclude={"image"}))
        return replace(stated, name=f"operator:{row.name}")
    if row.local_power is not None:
        return replace(_at_home(row.local_power), name=f"local_power:{row.name}")
    model = row.model or row.name
    simulated = SIMULATED.get(model) if account.simulated else None
    return replace(simulated.price, name=f"simulated:{model}") if simulated else None


def _at_home(stated: LocalPowerConfig) -> Price:
    hourly = stated.hourly_usd or Decimal(0)
    if stated.watts is not None and stated.usd_per_kwh is not None:
        hourly += hourly_of_power(stated.watts, stated.usd_per_kwh)
    return local_price(hourly, stated.tokens_per_s, stated.input_tokens_per_s)
