"""What a model costs: as stated, by the power that it takes, or as the simulation makes up."""

from __future__ import annotations

from decimal import Decimal

from gateway.config import ModelConfig, ProviderConfig
from gateway.config.llama_cpp import LocalPowerConfig
from gateway.upstream.simulated.settings import MODELS as SIMULATED
from pricing.local_power import hourly_of_power, local_price
from pricing.price import Price, per_million


def price_of(row: ModelConfig, account: ProviderConfig) -> Price | None:
    """Return what *row* at *account* costs, None if nobody says."""
    if row.price is not None:
        return per_million(row.price.model_dump(exclude={"image"}))
    if row.local_power is not None:
        return _at_home(row.local_power)
    simulated = SIMULATED.get(row.model or row.name) if account.simulated else None
    return simulated.price if simulated else None


def _at_home(stated: LocalPowerConfig) -> Price:
    hourly = stated.hourly_usd or Decimal(0)
    if stated.watts is not None and stated.usd_per_kwh is not None:
        hourly += hourly_of_power(stated.watts, stated.usd_per_kwh)
    return local_price(hourly, stated.tokens_per_s, stated.input_tokens_per_s)
