"""What is asked of the database."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from sqlalchemy import Select, Update, and_, bindparam, case, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from router_service.store.tables import CHANGES, OBSERVATIONS

_ROWS: Final = OBSERVATIONS.c
_JUDGED: Final = ("quality", "plain_quality", "source", "reliability", "repeats", "spread")
"""What is said of an answer; it comes together, and later than the rest."""


def claimed(number: int) -> Update:
    """Take *number* revisions and lock out who else writes; the last of them is returned."""
    return (
        update(CHANGES).values(revision=CHANGES.c.revision + number).returning(CHANGES.c.revision)
    )


def deleted() -> Update:
    """Write down that rows were deleted, and lock out who else writes."""
    return update(CHANGES).values(epoch=CHANGES.c.epoch + 1)


@lru_cache
def put(*, is_sqlite: bool) -> Any:
    """Write rows; of one whose id is known, what was said stays, if nothing is said of it now."""
    insert = (sqlite.insert if is_sqlite else postgresql.insert)(OBSERVATIONS)
    new = insert.excluded
    silent = new.quality.is_(None)
    values: dict[str, Any] = {column.name: new[column.name] for column in _ROWS}
    values |= {name: case((silent, _ROWS[name]), else_=new[name]) for name in _JUDGED}
    del values["id"]
    return insert.on_conflict_do_update(index_elements=[_ROWS.id], set_=values)


def of_request(request_id: str, reliability: float) -> Select[Any]:
    """Ask for the ids of what was carried out for a request, and whether it is to be changed.

    Who is less to be believed than who has spoken before changes nothing.
    """
    weaker = or_(_ROWS.quality.is_(None), func.abs(_ROWS.reliability) <= abs(reliability))
    done = and_(_ROWS.request_id == request_id, _ROWS.counterfactual.is_(False))
    return select(_ROWS.id, weaker.label("changes")).where(done).order_by(_ROWS.id)


@lru_cache
def said() -> Update:
    """Write what was said of the row ``row``."""
    values: dict[str, Any] = {name: bindparam(name) for name in (*_JUDGED, "revision")}
    return update(OBSERVATIONS).where(_ROWS.id == bindparam("row")).values(values)


def newer(revision: int, limit: int) -> Select[Any]:
    """Ask for the rows after *revision*, *limit* of them at the most."""
    after = select(OBSERVATIONS).where(_ROWS.revision > revision)
    return after.order_by(_ROWS.revision).limit(limit)


def before_last(number: int) -> Select[Any]:
    """Ask for the revision before those of the last *number* rows."""
    return select(_ROWS.revision).order_by(_ROWS.revision.desc()).offset(number).limit(1)


def by_profile() -> Select[Any]:
    """Ask for how many rows there are of each model, pool, encoder and arm."""
    of = (_ROWS.model, _ROWS.pool, _ROWS.encoder, _ROWS.arm)
    told = (func.count(), func.count(_ROWS.quality), func.max(_ROWS.at))
    return select(*of, *told).group_by(*of).order_by(*of)
