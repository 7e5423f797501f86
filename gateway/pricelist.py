"""What a configuration's models cost, and what an operator should know of that."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from gateway.config import Config, ModelConfig
from gateway.policy.accounts import elsewhere
from gateway.policy.prices import NOBODY, Prices, prices_of
from pricing.cost import dollars
from pricing.price import Price
from pricing.source import GUESSED
from techniques.core.json import JsonObject

_OLD_DAYS: Final = 90
_BY_NAME: Final = "by name"


def price_list(config: Config) -> list[JsonObject]:
    """Return what each model of *config* costs at each of its accounts, a row each.

    ``input`` and ``output`` are dollars per million tokens; ``row`` is that of the price book.
    """
    prices = prices_of(config)
    return [_row(row, prices, config) for row in _all(config)]


def price_remarks(config: Config) -> list[str]:
    """Return what is to be known of prices that is no guess, a line each with its path."""
    prices = prices_of(config)
    lines = [
        f"models.{row.name}: no price is known: calls are served with cost unknown"
        for row in _all(config)
        if not _is_priced(row, prices, config)
    ]
    return list(dict.fromkeys([*_strangers(config, prices), *lines, *_old(config, prices)]))


def guesses(config: Config) -> list[str]:
    """Return the models whose prices are guessed, a line each: nobody should overlook these."""
    prices = prices_of(config)
    lines = [
        f"models.{row.name}: THE PRICE IS GUESSED ({price.source}, {price.name}): "
        f"{_rate(price.input)} and {_rate(price.output)} dollars per million tokens; "
        "say what it is with `price`"
        for row in _all(config)
        if (price := _price(row, prices, config)) and price.source in GUESSED
    ]
    if config.pricing.guess != "never":
        lines += [
            f"models.{row.name}: prices of names that no table has ARE GUESSED"
            for row in _all(config)
            if _is_many(row) and _price(row, prices, config) is None
        ]
    return list(dict.fromkeys(lines))


def _all(config: Config) -> Iterator[ModelConfig]:
    for row in config.models:
        yield from (row, *elsewhere(row))


def _price(row: ModelConfig, prices: Prices, config: Config) -> Price | None:
    return prices.of(row, config.providers[row.provider], row.model or row.name)


def _is_many(row: ModelConfig) -> bool:
    return "*" in (row.model or row.name)


def _is_priced(row: ModelConfig, prices: Prices, config: Config) -> bool:
    """Return whether a price is known, or may be for the names that *row* stands for."""
    account = config.providers[row.provider]
    if account.simulated is not None or _price(row, prices, config) is not None:
        return True
    return _is_many(row) and (prices.whose(account) is not None or prices.book.guess != "never")


def _row(row: ModelConfig, prices: Prices, config: Config) -> JsonObject:
    price = _price(row, prices, config)
    many = price is None and _is_many(row) and _is_priced(row, prices, config)
    return {
        "model": row.name,
        "provider": row.provider,
        "input": _rate(price.input) if price else None,
        "output": _rate(price.output) if price else None,
        "source": price.source if price else (_BY_NAME if many else "unknown"),
        "row": price.name if price else None,
    }


def _rate(picodollars: int) -> str:
    return dollars(picodollars * 1_000_000)


def _strangers(config: Config, prices: Prices) -> Iterator[str]:
    """Yield the accounts that are priced as those of a provider that nobody has prices of."""
    stated = {name: row.priced_as for name, row in config.providers.items() if row.priced_as}
    known = prices.book.providers() | {NOBODY} if stated else set()
    for name, priced_as in stated.items():
        if priced_as not in known:
            yield f"providers.{name}.priced_as: no table has prices of {priced_as!r}"


def _old(config: Config, prices: Prices) -> Iterator[str]:
    """Yield that the tables which prices came from were made long ago."""
    used = {
        table.origin.name: table.origin.as_of
        for row in _all(config)
        if (price := _price(row, prices, config)) and price.source == "table"
        for table in prices.book.tables
        if price.name.startswith(table.origin.row("", "")[:-1])
    }
    for name, as_of in used.items():
        if as_of is not None and _days(as_of, prices.day) > _OLD_DAYS:
            yield f"pricing: prices are those that {name} had on {as_of}; a newer table may differ"


def _days(before: date, after: date) -> int:
    return (after - before).days
