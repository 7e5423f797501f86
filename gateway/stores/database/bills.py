"""Sums over the ledger: what a bill is made of, worked out by the database, exact to the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Function,
    Row,
    Select,
    func,
    literal_column,
    select,
)

from gateway.stores.database.rows import LedgerRow
from gateway.stores.database.sought import Sought, conditions
from gateway.stores.database.tables import LEDGER

MOST_LINES: Final = 10_000
"""Of one bill."""

TOKENS: Final = tuple(
    name for name in LedgerRow._fields if name.endswith("_tokens") or name == "images"
)
"""What is counted of a call."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY_US: Final = literal_column("86400000000", BigInteger)
_SPLIT: Final = 10**9
_HALF: Final = literal_column(str(_SPLIT), BigInteger)

GROUPS: Final[Mapping[str, ColumnElement[Any]]] = MappingProxyType(
    {
        "key": LEDGER.c.key,
        "team": LEDGER.c.team,
        "technique": LEDGER.c.technique,
        "model": LEDGER.c.model,
        "provider": LEDGER.c.provider,
        "role": LEDGER.c.role,
        "source": LEDGER.c.cost_source,
        "price": LEDGER.c.price,
        "outcome": LEDGER.c.outcome,
        "session": LEDGER.c.session,
        "run": LEDGER.c.run,
        "day": LEDGER.c.started_at // _DAY_US,
    }
)
"""What a bill may be parted by; a day is one of UTC."""


class TooManyLines(Exception):
    """A bill would have more than ``MOST_LINES``."""


@dataclass(frozen=True, slots=True)
class Sums:
    """What some sub-calls come to. ``counts`` are those of ``TOKENS``, in that order.

    ``cost`` is the picodollars of those whose cost is known, of ``unknown`` it is not.
    ``estimated`` are those whose tokens were guessed, ``estimated_cost`` is their part of the cost.
    """

    calls: int = 0
    counts: tuple[int, ...] = (0,) * len(TOKENS)
    cost: int = 0
    unknown: int = 0
    estimated: int = 0
    estimated_cost: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.calls + other.calls,
            tuple(map(sum, zip(self.counts, other.counts, strict=True))),
            self.cost + other.cost,
            self.unknown + other.unknown,
            self.estimated + other.estimated,
            self.estimated_cost + other.estimated_cost,
        )


@dataclass(frozen=True, slots=True)
class BillLine:
    """The sums of the rows that have *group* in common."""

    group: tuple[str | None, ...]
    sums: Sums


@dataclass(frozen=True, slots=True)
class Bill:
    """Lines in the order of their groups, which are told apart by *by*."""

    by: tuple[str, ...]
    lines: Sequence[BillLine]

    @property
    def total(self) -> Sums:
        """The sums of all lines."""
        return sum((line.sums for line in self.lines), Sums())


def summed(sought: Sought, by: Sequence[str]) -> Select[Any]:
    """Return the question for the sums of what is *sought*, parted by *by*; ``read`` reads it."""
    groups = [GROUPS[name].label(f"by_{name}") for name in by]
    query = select(*groups, *_sums()).where(*conditions(sought)).limit(MOST_LINES + 1)
    return query.group_by(*groups) if groups else query


def _sums() -> list[ColumnElement[Any]]:
    cost, guessed = LEDGER.c.cost, LEDGER.c.estimated
    return [
        func.count(),
        func.count().filter(cost.is_(None)),
        func.count().filter(guessed),
        *halves(cost),
        *(half.filter(guessed) for half in halves(cost)),
        *(func.sum(LEDGER.c[name]) for name in TOKENS),
    ]


def halves(cost: ColumnElement[int]) -> tuple[Function[Any], Function[Any]]:
    """Return two sums that ``joined`` makes one of: SQLite holds no sum of ten million dollars."""
    return func.sum(cost // _HALF), func.sum(cost % _HALF)


def joined(more: int | None, less: int | None) -> int:
    """Return the sum whose ``halves`` these are."""
    return int(more or 0) * _SPLIT + int(less or 0)


def read(by: Sequence[str], found: Iterable[Row[Any]]) -> Bill:
    """Return the bill that the database answered with.

    Raises:
        TooManyLines: It has more than one may have.
    """
    lines = [line for row in found if (line := _line(by, tuple(row))).sums.calls]
    if len(lines) > MOST_LINES:
        raise TooManyLines
    lines.sort(key=lambda line: [(name is None, name or "") for name in line.group])
    return Bill(tuple(by), lines)


def _line(by: Sequence[str], row: tuple[Any, ...]) -> BillLine:
    group = tuple(
        _day(value) if name == "day" else value for name, value in zip(by, row, strict=False)
    )
    calls, unknown, guessed, *money = row[len(by) : len(by) + 7]
    counts = tuple(int(count or 0) for count in row[len(by) + 7 :])
    cost, part = joined(money[0], money[1]), joined(money[2], money[3])
    return BillLine(group, Sums(calls, counts, cost, unknown, guessed, part))


def _day(number: int) -> str:
    return date.fromordinal(_EPOCH + number).isoformat()
