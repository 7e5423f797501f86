"""The price book: whose word counts for what a model costs.

The only place where that order is decided. A provider is a hard constraint: no model ever has a
price of another provider's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Final, Literal, TypeAlias

from pricing.names import begins, billions, family, plain, spellings
from pricing.price import Price, per_million
from pricing.source import PriceSource
from pricing.table import Table

Guess: TypeAlias = Literal["never", "record", "budget"]
"""Whether a price may be guessed where nobody has one: not at all, to be recorded as what it is, or
so that limits in money may rely on it too."""

_ALIKE: Final = 0.2
"""How much two models of a family may differ in size, to be taken for about the same."""

_BY_SIZE: Final[tuple[tuple[float, str], ...]] = (
    (3, "0.04"),
    (8, "0.10"),
    (14, "0.20"),
    (32, "0.30"),
    (70, "0.90"),
    (140, "2.00"),
)
"""Up to so many billions of parameters, dollars per million tokens of either kind."""

_ASSUMED: Final = {"input": Decimal(2), "output": Decimal(8)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model as *provider* calls it; None: nobody knows whose prices hold there."""

    provider: str | None
    model: str
    account: str = ""


@dataclass(frozen=True, slots=True)
class Book:
    """Tables, in the order in which they are asked.

    Attributes:
        own: What the operator states; ``provider`` is there an account's name too.
        catalogues: What is fetched and kept for a while.
        tables: What was imported, and what is shipped.
        addresses: By provider, what its addresses begin with, as a pattern.
        guess: Whether a price may be guessed.
    """

    own: Sequence[Table] = ()
    catalogues: Sequence[Table] = ()
    tables: Sequence[Table] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    guess: Guess = "never"

    def provider_at(self, address: str) -> str | None:
        """Return whose prices hold at *address*, None if it is nobody's that is known."""
        for provider, pattern in self.addresses.items():
            found = re.match(pattern, address.lower())
            if found is not None and _ends_a_part(found[0], address[found.end() :]):
                return provider
        return None

    def providers(self) -> set[str]:
        """Return every provider of which there is a row."""
        tables = (*self.own, *self.catalogues, *self.tables)
        return {row.provider for table in tables for row in table.rows}

    def price(self, wanted: Wanted, day: date) -> Price | None:
        """Return what a model costs from *day* on, None if nobody says and none is guessed."""
        known = self._known(wanted, day)
        if known is not None or self.guess == "never":
            return known
        guessed = self._guessed(wanted, day) or _assumed()
        return replace(guessed, firm=self.guess == "budget")

    def _known(self, wanted: Wanted, day: date) -> Price | None:
        for owner in (wanted.account, wanted.provider):
            for table in self.own:
                if owner and (price := _exact(table, owner, wanted.model, day)):
                    return _from(price, "operator")
        if wanted.provider is None:
            return None
        for source, tables in self._listed():
            for table in tables:
                if price := _exact(table, wanted.provider, wanted.model, day):
                    return _from(price, source)
        return None

    def _listed(self) -> Iterator[tuple[PriceSource, Sequence[Table]]]:
        yield "catalogue", self.catalogues
        yield "table", self.tables

    def _guessed(self, wanted: Wanted, day: date) -> Price | None:
        if wanted.provider is None:
            return _by_size(wanted.model)
        for table in self.catalogues:
            if price := _alike(table, wanted.provider, wanted.model, day):
                return _from(price, "catalogue_fuzzy")
        for _, tables in self._listed():
            for table in tables:
                if price := _inferred(table, wanted.provider, wanted.model, day):
                    return _from(price, "inferred")
        return _by_size(wanted.model)


def _ends_a_part(matched: str, rest: str) -> bool:
    """Return whether an address goes on with *rest* as that of the same host."""
    return not rest or matched[-1:] in ("/", ".") or rest[0] in "/:?#"


def _from(price: Price, source: PriceSource) -> Price:
    """Return *price* as one that came from *source*, with all that it may become."""
    then = None if price.then is None else _from(price.then, source)
    return replace(price.called(price.name, source), then=then)


def _exact(table: Table, provider: str, model: str, day: date) -> Price | None:
    for spelling in spellings(model, frozenset({provider})):
        if not spelling.tuned and (price := table.find(provider, spelling.name, day)):
            return price
    return None


def _alike(table: Table, provider: str, model: str, day: date) -> Price | None:
    """Return the price of the model of the same family that is nearest in size, within a fifth."""
    size = billions(model)
    if not size:
        return None
    found: list[tuple[float, str]] = []
    for name in table.names(provider):
        other = billions(name)
        if other and ":" not in name and family(name) == family(model):
            found.append((abs(other - size) / size, name))
    apart, nearest = min(found, default=(1.0, ""))
    return table.find(provider, nearest, day) if apart <= _ALIKE else None


def _inferred(table: Table, provider: str, model: str, day: date) -> Price | None:
    """Return the price of a fine-tuned model's base, or of that whose name *model*'s begins with.

    Of several the longest; and none that has another size.
    """
    for spelling in spellings(model, frozenset({provider})):
        if spelling.tuned:
            if price := table.find(provider, spelling.name, day):
                return price.called(price.name, price.source, ("fine_tune_at_base_rate",))
            continue
        starts = [
            name
            for name in table.names(provider)
            if begins(spelling.name, name) and billions(name) in (None, billions(model))
        ]
        if starts and (price := table.find(provider, max(starts, key=len), day)):
            return price
    return None


def _by_size(model: str) -> Price | None:
    size = billions(plain(model))
    for most, rate in _BY_SIZE:
        if size is not None and size <= most:
            both = {"input": Decimal(rate), "output": Decimal(rate)}
            return per_million(both).called(f"size:{size:g}b", "inferred")
    return None


def _assumed() -> Price:
    return per_million(_ASSUMED).called("default", "default")
