"""What a configuration says of prices that do not stand beside a model, and the book they make."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from gateway.config.values import Seconds
from pricing.book import Book, Guess
from pricing.files import SHIPPED, PriceFile, UnusablePrices, read
from pricing.table import Table
from router_service.groundwork.section import Section


def _off(value: object) -> object:
    return None if value in (False, "off") else value


class CatalogueConfig(Section):
    """A catalogue in OpenRouter's format: a ``file``, or fetched from a ``url``.

    What is fetched is kept in the file ``cache``, and fetched again when it is older than ``keep``,
    at a start or when the configuration is loaded again.
    """

    file: Path | None = None
    url: str | None = None
    cache: Path = Path("lockgate-catalogue.json")
    keep: Seconds = Field(7 * 86_400.0, gt=0)

    @model_validator(mode="after")
    def _one_place(self) -> CatalogueConfig:
        if (self.file is None) == (self.url is None):
            raise ValueError("give either file or url")
        return self

    @property
    def place(self) -> Path:
        """The file to read; of one that is fetched it may not be there yet."""
        return self.file or self.cache


class PricingConfig(Section):
    """Prices of models that state none themselves.

    ``prices`` is a file of the operator's own, which counts before all others; ``tables`` are
    imported ones, which count before the shipped one; without ``shipped`` that one is not used.
    ``guess`` tells whether a price may be guessed where nobody has one: ``never``, ``record`` (the
    cost is told, and marked) or ``budget`` (and limits in money hold by it).
    """

    prices: Path | None = None
    tables: tuple[Path, ...] = ()
    shipped: bool = True
    catalogue: Annotated[CatalogueConfig | None, BeforeValidator(_off)] = None
    guess: Guess = "never"


def book_of(stated: PricingConfig) -> Book:
    """Return the price book that *stated* describes, without what cannot be read."""
    shipped = _shipped() if stated.shipped else None
    catalogue = _if_there(stated.catalogue)
    return Book(
        own=list(_tables([stated.prices] if stated.prices else [])),
        catalogues=[catalogue] if catalogue else [],
        tables=[*_tables(stated.tables), *([shipped.table] if shipped else [])],
        addresses=_shipped().addresses,
        guess=stated.guess,
    )


def unreadable(stated: PricingConfig) -> Iterator[str]:
    """Yield what is wrong with the files that *stated* names, a line each with its path."""
    named = [("pricing.prices", stated.prices)]
    named += [(f"pricing.tables.{place}", path) for place, path in enumerate(stated.tables)]
    if stated.catalogue is not None:
        named.append(("pricing.catalogue.file", stated.catalogue.file))
    for at, path in named:
        try:
            if path is not None:
                read(path)
        except UnusablePrices as error:
            yield from (f"{at}: {line}" for line in str(error).splitlines())


def _tables(paths: list[Path] | tuple[Path, ...]) -> Iterator[Table]:
    for path in paths:
        try:
            yield read(path).table
        except UnusablePrices:  # what stops a start is told by ``unreadable``
            continue


def _if_there(stated: CatalogueConfig | None) -> Table | None:
    if stated is None:
        return None
    return next(_tables([stated.place]), None)


@cache
def _shipped() -> PriceFile:
    return read(SHIPPED)
