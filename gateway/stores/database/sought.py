"""Which rows of the ledger are meant, and in which order they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Select, func, literal, select, tuple_

from gateway.stores.database.rows import LedgerRow
from gateway.stores.database.tables import LEDGER

MOST: Final = 1_000
"""How many rows are read at once, at the most."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Which rows: all that is said must hold; "" means those that have none of what it names.

    ``since`` and ``until`` are microseconds since the epoch, the first included, the second not.
    ``tag`` is one of a row's tags. ``after`` is the place of a row: those that follow it are meant.
    ``ascending``: from the first on, as those of a request and of a run are; others come from the
    last on.
    """

    request: str | None = None
    run: str | None = None
    key: str | None = None
    team: str | None = None
    provider: str | None = None
    model: str | None = None
    technique: str | None = None
    role: str | None = None
    session: str | None = None
    tag: str | None = None
    outcome: str | None = None
    source: str | None = None
    since: int | None = None
    until: int | None = None
    limit: int = MOST
    after: tuple[int, str] | None = None
    ascending: bool = False


FILTERS: Final[Mapping[str, Column[Any]]] = MappingProxyType(
    {
        "request": LEDGER.c.request_id,
        "run": LEDGER.c.run,
        "key": LEDGER.c.key,
        "team": LEDGER.c.team,
        "provider": LEDGER.c.provider,
        "model": LEDGER.c.model,
        "technique": LEDGER.c.technique,
        "role": LEDGER.c.role,
        "session": LEDGER.c.session,
        "tag": LEDGER.c.tags,
        "outcome": LEDGER.c.outcome,
        "source": LEDGER.c.cost_source,
    }
)
"""The column of each field that a row may be sought by."""


def place_of(row: LedgerRow) -> tuple[int, str]:
    """Return where *row* stands among all."""
    return row.started_at, row.id


def asked(sought: Sought) -> Select[Any]:
    """Return the question for the rows themselves, in order."""
    query = select(LEDGER).where(*conditions(sought))
    forward = sought.ascending or sought.request is not None or sought.run is not None
    order = (LEDGER.c.started_at, LEDGER.c.id)
    if sought.after is not None:
        query = query.where(*_beyond(sought.after, forward=forward))
    ordered = query.order_by(*(it if forward else it.desc() for it in order))
    return ordered.limit(min(sought.limit, MOST + 1))


def conditions(sought: Sought) -> list[ColumnElement[bool]]:
    """Return what must hold for a row to be meant."""
    held: list[ColumnElement[bool]] = []
    for name, column in FILTERS.items():
        value = getattr(sought, name)
        if value is None:
            continue
        if not value and column.nullable:
            held.append(column.is_(None))
        else:
            held.append(_tagged(value) if name == "tag" else column == value)
    if sought.since is not None:
        held.append(LEDGER.c.started_at >= sought.since)
    if sought.until is not None:
        held.append(LEDGER.c.started_at < sought.until)
    return held


def _tagged(tag: str) -> ColumnElement[bool]:
    """Return whether *tag* is one of the words; ``LIKE`` would not tell small letters apart."""
    words = literal(" ") + LEDGER.c.tags + literal(" ")
    return func.length(func.replace(words, f" {tag} ", "")) < func.length(words)


def _beyond(place: tuple[int, str], *, forward: bool) -> tuple[ColumnElement[bool], ...]:
    """Return what holds for rows after *place*; the first, which the second implies, is indexed."""
    at, here = LEDGER.c.started_at, tuple_(LEDGER.c.started_at, LEDGER.c.id)
    there = tuple_(literal(place[0], at.type), literal(place[1]))
    return (at >= place[0], here > there) if forward else (at <= place[0], here < there)
