"""Keys, teams and budgets as the database keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

import orjson
from sqlalchemy.engine import Row

from gateway.config.periods import Period
from gateway.stores.database.rows import instant

OwnerKind: TypeAlias = Literal["key", "team"]


class Taken(Exception):
    """There is one already."""


class NotThere(Exception):
    """There is none."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key as it is kept; of its text only the hash and the first signs. None: no limit.

    Instants are microseconds since the epoch, ``max_cost`` is picodollars.
    """

    name: str
    prefix: str
    hash: str
    team: str | None = None
    models: tuple[str, ...] | None = None
    techniques: tuple[str, ...] | None = None
    priority: int = 5
    weight: float = 1.0
    rpm: int | None = None
    tpm: int | None = None
    concurrency: int | None = None
    max_calls: int | None = None
    max_cost: int | None = None
    deadline_ms: int | None = None
    journal: Literal["memory"] | None = None
    created_at: int = 0
    revoked_at: int | None = None
    expires: int | None = None


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """A team."""

    name: str
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class BudgetRecord:
    """What a key or a team may spend in a period: ``cap`` picodollars."""

    kind: OwnerKind
    owner: str
    period: Period
    cap: int
    tz: str = "UTC"


@dataclass(frozen=True, slots=True)
class Changed:
    """The keys that have changed, with all budgets that hold for them, up to change *number*."""

    number: int
    keys: Sequence[KeyRecord] = ()
    budgets: Sequence[BudgetRecord] = ()


KEY: Final = tuple(field.name for field in fields(KeyRecord))
BUDGET: Final = tuple(field.name for field in fields(BudgetRecord))
_LISTS: Final = ("models", "techniques")


def now() -> int:
    """Return this instant."""
    return instant(datetime.now(UTC).timestamp())


def columns_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return *values* of a key as columns: its lists as text."""
    return {
        name: orjson.dumps(value).decode() if name in _LISTS and value is not None else value
        for name, value in values.items()
    }


def key_of(row: Row[Any]) -> KeyRecord:
    """Return the key that *row* holds."""
    values = {name: getattr(row, name) for name in KEY}
    for name in _LISTS:
        if values[name] is not None:
            values[name] = tuple(orjson.loads(values[name]))
    return KeyRecord(**values)


def budget_of(row: Row[Any]) -> BudgetRecord:
    """Return the budget that *row* holds."""
    return BudgetRecord(**{name: getattr(row, name) for name in BUDGET})


def named(record: BudgetRecord) -> str:
    """Return how a budget is spoken of."""
    return f"budget of {record.kind} {record.owner!r} for a {record.period}"
