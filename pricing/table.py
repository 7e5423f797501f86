"""Tables of prices: rows as files have them, and how one is found by a model's name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, ValidationError

from pricing.names import plain
from pricing.price import Price
from pricing.rates import Mode, TieredRates


class RowRecord(TieredRates):
    """One row: what a provider's model costs in one mode, from one day on, until another.

    ``names`` are further names of the model. Days begin at midnight, UTC; ``to`` is the first on
    which it holds no more. ``caveats`` say what the rates do not.
    """

    model_config = ConfigDict(populate_by_name=True)

    provider: str = Field(min_length=1)
    model: str = Field(min_length=1)
    names: tuple[str, ...] = ()
    mode: Literal["standard"] | Mode = "standard"
    since: date | None = Field(None, alias="from")
    until: date | None = Field(None, alias="to")
    caveats: tuple[str, ...] = ()

    def holds(self, day: date) -> bool:
        """Return whether it holds on *day*."""
        return (self.since is None or self.since <= day) and (
            self.until is None or day < self.until
        )


def row_or_none(value: Mapping[str, object]) -> RowRecord | None:
    """Return the row that *value* is, None if it is none: of others' lists that is left out."""
    try:
        return RowRecord.model_validate(value)
    except ValidationError:
        return None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where rows come from: a name for it, and the day on which they were taken from there."""

    name: str
    as_of: date | None = None

    def row(self, provider: str, model: str) -> str:
        """Return what a row is called wherever a cost is told."""
        day = f" {self.as_of}" if self.as_of else ""
        return f"{self.name}{day}:{provider}/{model}"


Key: TypeAlias = tuple[str, str]
"""A provider, and one of the names that it has for a model."""


class Table:
    """The rows of one origin."""

    def __init__(self, origin: Origin, rows: Iterable[RowRecord]) -> None:
        self.origin = origin
        self.rows: Sequence[RowRecord] = tuple(rows)
        self._models: defaultdict[Key, list[RowRecord]] = defaultdict(list)
        for row in self.rows:
            self._models[row.provider, plain(row.model)].append(row)
        self._by_name: dict[Key, Key] = {}
        for row in self.rows:
            for name in row.names:
                self._by_name.setdefault((row.provider, plain(name)), _key(row))
        self._by_name.update((key, key) for key in self._models)  # its own name comes first

    def find(self, provider: str, name: str, day: date) -> Price | None:
        """Return what *provider*'s model called *name* costs from *day* on, if a row says so.

        What it becomes on later days, as far as that is known already, follows it.
        """
        key = self._by_name.get((provider, name))
        if key is None:
            return None
        rows = self._models[key]
        changes = {at for row in rows for at in (row.since, row.until) if at and at > day}
        found: Price | None = None
        begins = day
        for start in sorted({day, *changes}, reverse=True):
            price = self._on(rows, start)
            if price is None:
                continue
            found = price if found is None else replace(price, until=_midnight(begins), then=found)
            begins = start
        return found if begins == day and self._on(rows, day) else None

    def names(self, provider: str) -> list[str]:
        """Return every name that *provider* has for a model."""
        return [name for owner, name in self._by_name if owner == provider]

    def _on(self, rows: Sequence[RowRecord], day: date) -> Price | None:
        current: dict[str, RowRecord] = {}
        for row in rows:
            before = current.get(row.mode)
            if row.holds(day) and (before is None or _start(before) <= _start(row)):
                current[row.mode] = row
        usual = current.pop("standard", None)
        if usual is None:
            return None
        modes = tuple((mode, _price(row)) for mode, row in current.items())
        name = self.origin.row(usual.provider, usual.model)
        return replace(_price(usual), modes=modes).called(name, "table")


def _key(row: RowRecord) -> Key:
    return row.provider, plain(row.model)


def _start(row: RowRecord) -> date:
    return row.since or date.min


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()


def _price(row: RowRecord) -> Price:
    return replace(row.price(), caveats=row.caveats)
