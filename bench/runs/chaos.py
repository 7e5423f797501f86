"""Runs of many techniques while replicas are killed, clients leave and the provider refuses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.runs.fleet import TECHNIQUES, Client, Temper, clients, live
from bench.runs.provider import Weather
from bench.runs.rig import Kind, Rig, rig
from bench.runs.verdict import Verdict, judge, read_books
from techniques.core.groups import task_group

_REAPED_S: Final = 100.0
"""Within what time a store that is told nothing more gives back what killed replicas held."""
_STORM: Final = Weather(refused=0.15)
_RESTLESS: Final = Temper(leaves=0.3)


@dataclass(frozen=True, slots=True)
class Size:
    """How much is run: *kills* in all, one about every *every_s* seconds.

    ``patience_s`` is how long rows are waited for of calls whose replica is dead.
    """

    runs: int
    replicas: int
    database: Kind
    kills: int
    every_s: float = 2.0
    patience_s: float = _REAPED_S


async def chaos(size: Size, techniques: Sequence[str] = tuple(TECHNIQUES)) -> Verdict:
    """Run a fleet undisturbed and once more in chaos, and return what is to be said of that."""
    make = partial(clients, size.runs, techniques=techniques)
    expected, asked = await _undisturbed(make(), size)
    fleet = make()
    async with rig(_STORM, size.replicas, size.database) as storm:
        began = time.perf_counter()
        await _disturbed(storm, fleet, size)
        lasted_s = time.perf_counter() - began
        again = await _asked_again(storm, make())
        books = await read_books(storm, size.patience_s)
        found = judge(fleet, expected, storm.provider.paid, books)
        found.lasted_s, found.kills, found.again = lasted_s, storm.kills, again
        if again:
            found.wrong.append(f"{again} calls were made for runs that had ended")
        found.refused = sum(storm.provider.refused.values())
        if books.held and size.patience_s >= _REAPED_S:
            found.wrong.append(f"{books.held} picodollars are still held")
    found.asked = asked
    found.left = sum(client.left for client in fleet)
    return found


async def _undisturbed(fleet: Sequence[Client], size: Size) -> tuple[dict[int, str], int]:
    """Return the answers of *fleet* where nothing goes wrong, and how many calls they took."""
    async with rig(Weather(), 1, "sqlite") as calm:
        await live(calm, fleet, Temper())
        told = {client.number: client.text or "" for client in fleet}
        found = judge(fleet, told, calm.provider.paid, await read_books(calm, size.patience_s))
        assert not found.wrong, found.wrong
        return told, found.paid


async def _disturbed(storm: Rig, fleet: Sequence[Client], size: Size) -> None:
    async with task_group() as group:
        group.start_soon(storm.kill_and_start, size.kills, size.every_s)
        await live(storm, fleet, _RESTLESS)
        group.cancel_scope.cancel()
    await storm.start_dead()


async def _asked_again(storm: Rig, fleet: Sequence[Client]) -> int:
    """Ask for every run once more, and return how many calls that took: none, as all have ended.

    The last word of a run whose replica was killed as it ended was not written: it ends now.
    """
    before = len(storm.provider.calls)
    for client in fleet:
        client.tries = 1
    await live(storm, fleet, Temper())
    return len(storm.provider.calls) - before


def chaos_table(verdicts: Sequence[tuple[Size, Verdict]]) -> str:
    """Return what was found as a Markdown table, a column each."""
    heads = [f"{size.replicas} x {_NAMES[size.database]}" for size, _ in verdicts]
    lines = [f"| chaos | {' | '.join(heads)} |", f"|---{'|---:' * len(heads)}|"]
    for name, read in _LINES:
        lines.append(f"| {name} | {' | '.join(read(found) for _, found in verdicts)} |")
    return "\n".join(lines)


_NAMES: Final = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
_LINES: Final[tuple[tuple[str, Callable[[Verdict], str]], ...]] = (
    ("runs that were asked for, and that ended", lambda v: f"{v.runs} / {v.runs - v.unended}"),
    ("kills; clients that left; refusals", lambda v: f"{v.kills}; {v.left}; {v.refused}"),
    ("answers that differ from the undisturbed run's", lambda v: f"{v.unlike}"),
    ("calls paid; undisturbed", lambda v: f"{v.paid}; {v.asked}"),
    ("settled steps; of them paid twice", lambda v: f"{v.steps}; {v.twice}"),
    ("calls made when every run was asked for once more", lambda v: f"{v.again}"),
    (
        "paid calls whose answer was lost, with a replica or a client that left",
        lambda v: f"{v.lost}",
    ),
    ("steps found ambiguous", lambda v: f"{v.ambiguous}"),
    ("rows; of them estimated, their end unseen", lambda v: f"{v.rows}; {v.guessed}"),
    ("paid calls without a row of their own usage", lambda v: f"{v.off_books}"),
    ("rows that are wrong; rows less charges, $", lambda v: f"{v.misread}; {v.astray / 1e12:g}"),
    ("resumes; steps answered from the journal", lambda v: f"{v.resumes}; {v.replayed}"),
    ("suspensions told to clients", lambda v: f"{v.suspended}"),
    ("seconds", lambda v: f"{v.lasted_s:.0f}"),
)
