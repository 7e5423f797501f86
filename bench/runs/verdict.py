"""Whether every run ended, none of what was settled was paid twice, and the books are right.

The provider's log is the judge. Its number of a call stands as the input tokens of the row and of
the step that the call came to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from bench.runs.fleet import Client
from bench.runs.provider import Call
from bench.runs.rig import KEY, PREFIX, Rig
from gateway.stores.database.engine import opened
from gateway.stores.database.tables import LEDGER, RUNS, STEPS
from gateway.stores.journal.records import Standing, StepRecord, standing_read, step_read
from tests.conformance.replicas import charged, held

_POOL: Final = f"key:{KEY}"
_LOOK_S: Final = 0.5
_RATES: Final = (3 * 10**6, 15 * 10**6)
"""Picodollars a token of input, and of output."""
_REFUSED: Final = frozenset({"overloaded", "rate_limited"})


@dataclass(frozen=True, slots=True)
class Books:
    """What the database has at the end, and the store."""

    standings: Mapping[str, Standing]
    steps: Mapping[str, Sequence[StepRecord]]
    rows: Sequence[Any]
    charged: int
    held: int

    @property
    def booked(self) -> int:
        """What the rows come to, in picodollars."""
        return sum(row.cost or 0 for row in self.rows)


@dataclass
class Verdict:
    """What was found; ``wrong`` is everything that must not be.

    Attributes:
        asked: How many calls the same runs took undisturbed.
        lost: Answers that were paid for and that no step came of: their replica was killed.
        ambiguous: How often a run found a call of which nobody knew what came of it.
        off_books: Paid answers that have no row of their own numbers.
        guessed: Rows whose call nobody saw the end of: their usage is estimated.
        misread: Rows that say of a call what it was not.
        astray: Picodollars that rows come to beyond what was charged.
        again: Calls that were made when all had ended and was asked for once more.
        left: How often a client left; ``refused``: how often the provider refused.
    """

    runs: int = 0
    unended: int = 0
    unlike: int = 0
    asked: int = 0
    kills: int = 0
    again: int = 0
    left: int = 0
    refused: int = 0
    lasted_s: float = 0.0
    steps: int = 0
    paid: int = 0
    lost: int = 0
    twice: int = 0
    ambiguous: int = 0
    rows: int = 0
    off_books: int = 0
    guessed: int = 0
    replayed: int = 0
    resumes: int = 0
    suspended: int = 0
    misread: int = 0
    astray: int = 0
    wrong: list[str] = field(default_factory=list)


async def read_books(rig: Rig, patience_s: float) -> Books:
    """Return the books, when nothing is held and all rows have come, or patience is at its end."""
    client = rig.store.client()
    async with opened(rig.database) as database:
        ends = anyio.current_time() + patience_s
        while True:
            async with database.reading() as connection:
                books = await _read(connection, charged(client, PREFIX, _POOL))
            books = Books(
                books.standings,
                books.steps,
                books.rows,
                charged(client, PREFIX, _POOL),
                held(client, PREFIX, _POOL),
            )
            done = not books.held and books.booked == books.charged
            if done or anyio.current_time() > ends:
                return books
            await anyio.sleep(_LOOK_S)


async def _read(connection: AsyncConnection, spent: int) -> Books:
    runs = (await connection.execute(select(RUNS.c.run, RUNS.c.standing))).all()
    steps: defaultdict[str, list[StepRecord]] = defaultdict(list)
    for run, record in (await connection.execute(select(STEPS.c.run, STEPS.c.record))).all():
        steps[run].append(step_read(record))
    rows = (await connection.execute(select(LEDGER))).all()
    return Books({run: standing_read(one) for run, one in runs}, steps, rows, spent, 0)


def judge(
    fleet: Sequence[Client], expected: Mapping[int, str], calls: Sequence[Call], books: Books
) -> Verdict:
    """Return what is to be said of *fleet*, whose answers are *expected*, undisturbed."""
    found = Verdict(runs=len(fleet), paid=len(calls), rows=len(books.rows))
    _answers(found, fleet, expected)
    _steps(found, fleet, calls, books)
    _rows(found, calls, books)
    for standing in books.standings.values():
        found.ambiguous += standing.ambiguous
        found.replayed += standing.replayed
        found.resumes += standing.resumes
    found.suspended = sum(client.met["429 run_suspended"] for client in fleet)
    if found.lost > found.ambiguous:
        found.wrong.append(f"{found.lost} answers were lost, {found.ambiguous} steps ambiguous")
    return found


def _answers(found: Verdict, fleet: Sequence[Client], expected: Mapping[int, str]) -> None:
    for client in fleet:
        told = f"{client.technique}, run {client.number}"
        found.wrong += [f"{told}: {wrong}" for wrong in client.wrong]
        if client.text is None:
            found.unended += 1
            found.wrong.append(f"{told} has no end: {dict(client.met)}")
        elif client.text != expected[client.number]:
            found.unlike += 1
            found.wrong.append(f"{told} has another answer than undisturbed")


def _steps(found: Verdict, fleet: Sequence[Client], calls: Sequence[Call], books: Books) -> None:
    """Look for settled steps that were paid once more, and for answers that no step came of."""
    settled: set[int] = set()
    for client in fleet:
        standing = books.standings.get(client.run)
        if standing is None or standing.state != "completed":
            found.wrong.append(f"{client.technique}, run {client.run!r}: {standing}")
        done = [step for step in books.steps.get(client.run, ()) if step.state == "completed"]
        found.steps += len(done)
        settled.update(step.tokens[0] for step in done if step.tokens is not None)
    if unknown := settled - {call.number for call in calls}:
        found.wrong.append(f"steps of calls that were never answered: {sorted(unknown)[:5]}")
    alike: defaultdict[str, list[Call]] = defaultdict(list)
    for call in calls:
        alike[call.body].append(call)
    for same in alike.values():
        ours = [call for call in same if call.number in settled]
        found.lost += len(same) - len(ours)
        found.twice += _paid_again(same, ours)
    if found.twice:
        found.wrong.append(f"{found.twice} settled steps were paid twice")


def _paid_again(same: Sequence[Call], settled: Sequence[Call]) -> int:
    """Return how many calls that ask *same* were made though all that wanted it were *settled*."""
    if not settled:
        return 0
    last = max(call.began for call in settled)
    return sum(call.began > last for call in same)


def _rows(found: Verdict, calls: Sequence[Call], books: Books) -> None:
    by_number = {call.number: call for call in calls}
    told = Counter(row.input_tokens for row in books.rows if row.outcome == "ok")
    for row in books.rows:
        if row.estimated:
            found.guessed += 1
        elif not (row.outcome in _REFUSED and not row.cost):
            misread = _misread(row, by_number.get(row.input_tokens))
            found.misread += bool(misread)
            found.wrong += [f"a row of {row.run} {row.step} {misread}"] if misread else []
    if more := [number for number, count in told.items() if count > 1]:
        found.wrong.append(f"{len(more)} calls have two rows")
    found.off_books = len(set(by_number) - set(told))
    found.astray = books.booked - books.charged
    if not books.held and found.astray:
        found.wrong.append(f"rows come to {books.booked}, charged are {books.charged}")
    if not books.held and found.off_books > found.guessed:
        found.wrong.append(f"{found.off_books} calls have no row, {found.guessed} rows no call")


def _misread(row: Any, call: Call | None) -> str:
    """Return what is wrong with a row that says it is of *call*; nothing, mostly."""
    if call is None:
        return f"is of no call: {row.input_tokens} tokens"
    if call.output != row.output_tokens:
        return f"has {row.output_tokens} of {call.output} tokens"
    costs = row.input_tokens * _RATES[0] + row.output_tokens * _RATES[1]
    return "" if row.cost == costs else f"costs {row.cost}, not {costs}"
