"""The operations of a journal in SQL: what is asked of the database, and what its answers mean.

Each operation is a generator: it yields statements and is sent their rows. So one text of it runs
in a thread over SQLite and on the loop over PostgreSQL. All that are written give back a row for
each that they changed. Statements of one operation are in one transaction.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from gateway.stores.journal.journal import (
    Answer,
    Claim,
    Claimed,
    Hold,
    Sought,
    Write,
    claimable,
)
from gateway.stores.journal.records import (
    RunName,
    RunRecord,
    Standing,
    StepRecord,
    Stored,
    run_read,
    standing_read,
    step_read,
    written,
)


class Statement(NamedTuple):
    """Some SQL, with a ``?`` for each of its values."""

    sql: str
    values: tuple[Any, ...] = ()


Rows: TypeAlias = Sequence[Any]
T = TypeVar("T")
Operation: TypeAlias = Generator[Statement, Rows, T]

SHARED: Final = "/* shared */"
"""Where PostgreSQL is to keep others from claiming the run until the transaction has ended."""

PLAIN: Final = "/* plain */"
"""Where PostgreSQL is to compare texts by their signs alone, as SQLite and Python do."""
_PLACE: Final = f"(created_ms, owner{PLAIN}, run{PLAIN})"

_FOUND: Final = "SELECT record, standing, token, until_ms FROM runs WHERE "
_NAMED: Final = _FOUND + "owner = ? AND run = ?"
_WAITS: Final = (
    "owner = ? AND body = ? AND (state IN ('suspended', 'interrupted')"
    " OR (state = 'executing' AND until_ms <= ?)) ORDER BY created_ms LIMIT 1"
)
_LAST: Final = _FOUND + "owner = ? AND body = ? ORDER BY created_ms DESC LIMIT 1"
_BEGIN: Final = (
    "INSERT INTO runs (owner, run, body, session, state, background, token, until_ms, created_ms,"
    " written_ms, record, standing) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING RETURNING token"
)
_TAKE: Final = (
    "UPDATE runs SET token = token + 1, until_ms = ?, written_ms = ?, state = 'executing',"
    " standing = ? WHERE owner = ? AND run = ? AND token = ? AND until_ms <= ? RETURNING token"
)
_STEP: Final = (
    "INSERT INTO steps (owner, run, path, record)"
    f" SELECT owner, run, ?, ? FROM runs WHERE owner = ? AND run = ? AND token = ? {SHARED}"
    " ON CONFLICT (owner, run, path) DO UPDATE SET record = excluded.record RETURNING 1"
)
_STAND: Final = (
    "UPDATE runs SET state = ?, standing = ?, written_ms = ?"
    " WHERE owner = ? AND run = ? AND token = ? RETURNING token"
)
_STAND_LAST: Final = _STAND.replace("written_ms = ?", "written_ms = ?, until_ms = 0", 1)
"""Says how a run stands, and gives up the claim."""
_END: Final = (
    "UPDATE runs SET until_ms = 0 WHERE owner = ? AND run = ? AND token = ? RETURNING token"
)
_REPLACE: Final = (
    "UPDATE runs SET body = ?, background = ?, record = ?"
    " WHERE owner = ? AND run = ? AND token = ? RETURNING token"
)
_RENEW: Final = (
    "UPDATE runs SET until_ms = ?"
    " WHERE owner = ? AND run = ? AND token = ? AND until_ms > 0 RETURNING token"
)
_HELD: Final = f"SELECT 1 FROM runs WHERE owner = ? AND run = ? AND token = ? {SHARED}"
_STEPS: Final = "SELECT record FROM steps WHERE owner = ? AND run = ?"
_ABANDONED: Final = (
    "SELECT record FROM runs WHERE background = 1 AND (state IN ('suspended', 'interrupted')"
    " OR (state = 'executing' AND until_ms <= ?)) ORDER BY created_ms LIMIT ?"
)
_PUT_AWAY: Final = "SELECT standing FROM runs WHERE state = 'suspended' LIMIT ?"
_OLD: Final = "written_ms < ? AND until_ms <= ?"
_PURGE_STEPS: Final = (
    "DELETE FROM steps WHERE EXISTS (SELECT 1 FROM runs WHERE runs.owner = steps.owner"
    f" AND runs.run = steps.run AND {_OLD})"
)
_OVER: Final = (
    "UPDATE runs SET body = ?, session = ?, state = ?, background = ?, token = token + 1,"
    " until_ms = 0, created_ms = ?, written_ms = ?, record = ?, standing = ?"
    " WHERE owner = ? AND run = ? AND until_ms <= ? RETURNING token"
)
_FORGET_STEPS: Final = "DELETE FROM steps WHERE owner = ? AND run = ?"
_FORGET: Final = "DELETE FROM runs WHERE owner = ? AND run = ? RETURNING 1"
_PURGE: Final = f"DELETE FROM runs WHERE {_OLD} RETURNING 1"


def claim(wish: Claim, now: int) -> Operation[Answer]:
    """Claim a run, or tell how it stands."""
    name = wish.record.name
    found = yield Statement(_NAMED, name)
    if not found and wish.matching != "name":
        body = name.owner, wish.record.body
        found = yield Statement(_FOUND + _WAITS, (*body, now))
        if not found and wish.matching == "any":
            found = yield Statement(_LAST, body)
    if found:
        return (yield from _take(wish, now, found[0]))
    record = wish.record
    fresh = Stored(record, Standing(), record.created_ms, wish.lease_ms)
    begun = yield Statement(_BEGIN, _first_row(fresh, now))
    if begun:
        return Claimed(Hold(name, fresh.token), fresh, is_new=True)
    (row,) = yield Statement(_NAMED, name)  # another was quicker
    return (yield from _take(wish, now, row))


def _first_row(found: Stored, now: int) -> tuple[Any, ...]:
    record, standing = found.record, found.standing
    until_ms = now + found.lease_ms if found.lease_ms else 0
    own = (*record.name, record.matched, record.session, standing.state, int(record.background))
    held = (found.token, until_ms, record.created_ms, now)
    return (*own, *held, written(record), written(standing))


def _take(wish: Claim, now: int, row: Any) -> Operation[Answer]:
    found = _stored(row, now)
    name = found.record.name
    if claimable(found, wish):
        standing = written(replace(found.standing, state="executing"))
        values = (now + wish.lease_ms, now, standing, *name, found.token, now)
        taken = yield Statement(_TAKE, values)
        if taken:
            rows = yield Statement(_STEPS, name)
            token = found.token + 1
            return Claimed(Hold(name, token), replace(_with(found, rows), token=token))
        (row,) = yield Statement(_NAMED, name)
        found = _stored(row, now)
    rows = yield Statement(_STEPS, name)
    return _with(found, rows)


def write(change: Write, now: int) -> Operation[bool]:
    """Write steps and standing; return False, and write nothing, where the claim is lost."""
    hold = (*change.hold.name, change.hold.token)
    if change.standing is not None:
        state = change.standing.state
        stands = (state, written(change.standing), now, *hold)
        if not (yield Statement(_STAND_LAST if change.ends else _STAND, stands)):
            return False
    elif not change.steps and not (yield Statement(_HELD, hold)):
        return False
    for step in change.steps:
        if not (yield Statement(_STEP, (step.path, written(step), *hold))):
            return False
    if (record := change.record) is not None:
        values = (record.matched, int(record.background), written(record), *hold)
        yield Statement(_REPLACE, values)
    if change.ends and change.standing is None:
        yield Statement(_END, hold)
    return True


def renew(holds: Sequence[Hold], until_ms: int) -> Operation[Sequence[Hold]]:
    """Hold on to *holds*; return those that were lost, and not those that have ended."""
    lost: list[Hold] = []
    for hold in holds:
        own = (*hold.name, hold.token)
        if not (yield Statement(_RENEW, (until_ms, *own))) and not (yield Statement(_HELD, own)):
            lost.append(hold)
    return lost


def find(name: RunName, now: int) -> Operation[Stored | None]:
    """Return a run with its steps."""
    found = yield Statement(_NAMED, name)
    if not found:
        return None
    rows = yield Statement(_STEPS, name)
    return _with(_stored(found[0], now), rows)


def waits(owner: str, body: str, now: int) -> Operation[bool]:
    """Return whether a run of that key and body waits to be taken up."""
    return bool((yield Statement(f"SELECT 1 FROM runs WHERE {_WAITS}", (owner, body, now))))


def abandoned(limit: int, now: int) -> Operation[Sequence[RunRecord]]:
    """Return runs of the background that nobody is at work on."""
    rows = yield Statement(_ABANDONED, (now, limit))
    return [run_read(record) for (record,) in rows]


def suspended(limit: int) -> Operation[Sequence[int | None]]:
    """Return when the runs that are put away can go on."""
    rows = yield Statement(_PUT_AWAY, (limit,))
    return [standing_read(standing).eta_ms for (standing,) in rows]


def listed(sought: Sought, now: int) -> Operation[Sequence[Stored]]:
    """Return the runs that are sought, without their steps."""
    terms = [
        term
        for term, is_asked in (
            ("owner = ?", sought.owner is not None),
            ("session = ?", sought.session is not None),
            ("session IS NOT NULL", sought.grouped),
            (f"state IN ({', '.join('?' * len(sought.states))})", bool(sought.states)),
            (f"{_PLACE} < (?, ?, ?)", sought.after is not None),
        )
        if is_asked
    ]
    said = (sought.owner, sought.session, *sought.states, *(sought.after or ()))
    given = tuple(one for one in said if one is not None)
    order = f" ORDER BY created_ms DESC, owner{PLAIN} DESC, run{PLAIN} DESC LIMIT ?"
    which = (" AND ".join(terms) or "1 = 1") + order
    rows = yield Statement(_FOUND + which, (*given, sought.limit))
    return [_stored(row, now) for row in rows]


def with_steps(found: Stored) -> Operation[Stored]:
    """Return a run with its steps."""
    rows = yield Statement(_STEPS, found.record.name)
    return _with(found, rows)


def put(brought: Stored, now: int, *, replaces: bool) -> Operation[Stored | None]:
    """Put a run here; return what is in its way."""
    record = brought.record
    fresh = replace(brought, token=record.created_ms, lease_ms=0)
    taken = yield Statement(_BEGIN, _first_row(fresh, now))
    if not taken and replaces:
        owner, run, body, session, state, background, *rest = _first_row(fresh, now)
        values = (body, session, state, background, *rest[2:], owner, run, now)
        taken = yield Statement(_OVER, values)
    if not taken:
        return (yield from find(record.name, now))
    yield Statement(_FORGET_STEPS, record.name)
    for step in brought.steps:
        yield Statement(_STEP, (step.path, written(step), *record.name, taken[0][0]))
    return None


def forget(names: Sequence[RunName]) -> Operation[int]:
    """Forget these runs."""
    gone = 0
    for name in names:
        yield Statement(_FORGET_STEPS, name)
        gone += len((yield Statement(_FORGET, name)))
    return gone


def purge(before_ms: int, now: int) -> Operation[int]:
    """Forget what is old."""
    yield Statement(_PURGE_STEPS, (before_ms, now))
    return len((yield Statement(_PURGE, (before_ms, now))))


def erase(owner: str) -> Operation[int]:
    """Forget what is of *owner*."""
    yield Statement("DELETE FROM steps WHERE owner = ?", (owner,))
    return len((yield Statement("DELETE FROM runs WHERE owner = ? RETURNING 1", (owner,))))


def _stored(row: Any, now: int) -> Stored:
    record, standing, token, until_ms = row
    return Stored(run_read(record), standing_read(standing), token, max(until_ms - now, 0))


def _with(found: Stored, rows: Rows) -> Stored:
    return replace(found, steps=tuple(_steps(rows)))


def _steps(rows: Rows) -> Sequence[StepRecord]:
    return [step_read(record) for (record,) in rows]
