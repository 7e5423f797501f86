"""What a model costs: as stated, by the power it takes, as simulated, or by the price book."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache, partial
from typing import Final

from gateway.clock import utc_now
from gateway.config import Config, ModelConfig, ProviderConfig
from gateway.config.llama_cpp import LocalPowerConfig
from gateway.config.pricing import book_of
from gateway.upstream.simulated.settings import EMBEDDER_PRICE, EMBEDDERS
from gateway.upstream.simulated.settings import MODELS as SIMULATED
from pricing.book import Book, Wanted
from pricing.local_power import hourly_of_power, local_price
from pricing.price import Price

NOBODY: Final = "none"
"""Stands for a provider where no listed prices hold."""

_REMEMBERED: Final = 1024
"""Names that a ``*`` stands for are a client's, and there is no end to them."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What models cost from *day* on; looked up when a configuration is loaded, not for calls."""

    book: Book
    day: date
    _known: dict[str, str | None] = field(default_factory=dict, compare=False)
    """Whose prices hold at an address: all models of an account have one."""

    def by_name(self, row: ModelConfig, account: ProviderConfig) -> Callable[[str], Price | None]:
        """Return what tells the price of a model that *row* serves, and remembers what it told."""
        return lru_cache(_REMEMBERED)(partial(self.of, row, account))

    def of(self, row: ModelConfig, account: ProviderConfig, model: str) -> Price | None:
        """Return what the provider's *model* costs, which *row* serves at *account*.

        None if nobody says.
        """
        if row.price is not None:
            return row.price.price().called(f"operator:{row.name}", "operator")
        if row.local_power is not None:
            return replace(_at_home(row.local_power), name=f"local_power:{row.name}")
        if account.simulated is not None:
            return _simulated(model)
        if "*" in model:
            return None  # each of the names that it stands for has a price of its own
        return self.book.price(Wanted(self.whose(account), model, row.provider), self.day)

    def whose(self, account: ProviderConfig) -> str | None:
        """Return the provider whose prices hold at *account*, None if nobody's are known to."""
        if account.priced_as is None:
            address = account.base_url
            if address not in self._known:
                self._known[address] = self.book.provider_at(address)
            return self._known[address]
        return None if account.priced_as == NOBODY else account.priced_as


def prices_of(config: Config) -> Prices:
    """Return what models cost from today on, by what *config* says of prices.

    The book is read only where there is something to look up in it.
    """
    asked = any(row.priced_as for row in config.providers.values()) or any(
        row.price is None and row.local_power is None and _is_real(row, config)
        for row in config.models
    )
    return Prices(book_of(config.pricing) if asked else Book(), utc_now().date())


def _is_real(row: ModelConfig, config: Config) -> bool:
    """Return whether *row* is served anywhere but by the simulation."""
    accounts = (row.provider, *row.accounts)
    return any(config.providers[name].simulated is None for name in accounts)


def _simulated(model: str) -> Price | None:
    if model in SIMULATED:
        return SIMULATED[model].price.called(f"simulated:{model}", "operator")
    return EMBEDDER_PRICE.called(f"simulated:{model}", "operator") if model in EMBEDDERS else None


def _at_home(stated: LocalPowerConfig) -> Price:
    hourly = stated.hourly_usd or Decimal(0)
    if stated.watts is not None and stated.usd_per_kwh is not None:
        hourly += hourly_of_power(stated.watts, stated.usd_per_kwh)
    return local_price(hourly, stated.tokens_per_s, stated.input_tokens_per_s)
