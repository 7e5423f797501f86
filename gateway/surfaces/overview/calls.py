"""What is under way: the requests that this process serves, and runs of all that share a journal.

A run that is carried out here is told of as it is in memory, others as the journal has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from gateway.metering.holds import Holding
from gateway.metering.ledger import Ledger
from gateway.runs.book import RunBook
from gateway.runs.live import LiveRun
from gateway.stores.journal.records import RunName, Stored
from gateway.surfaces.run_view import brief_of, in_order, state_of
from gateway.surfaces.visit import Visit
from pricing.cost import dollars
from techniques.core.json import JsonObject

MOST: Final = 40
"""So many are told of; of the others, how many there are."""
_STEPS: Final = 24
_TOLD: Final = (
    "id",
    "reason",
    "technique",
    "model",
    "session",
    "background",
    "eta_ms",
    "cost_usd",
    "cost_known",
    "calls",
)


@dataclass(frozen=True, slots=True)
class Seen:
    """Something under way: a request that is served here, a run that is, or a run of the journal.

    ``waiting`` are those of its sub-calls that wait.
    """

    name: RunName
    state: str
    age_ms: float
    waiting: Sequence[Holding] = ()
    visit: Visit | None = None
    live: LiveRun | None = None
    stored: Stored | None = None

    @property
    def order(self) -> tuple[bool, float, str]:
        """Its place among others: what is held stands where it stood, and nothing jumps."""
        return self.state not in ("executing", "held"), -self.age_ms, self.name.run

    def told(self, now_ms: int) -> JsonObject:
        """Return what is told of it."""
        if self.live is not None:
            told = {**_run(_as_stored(self.live), now_ms), "here": True}
        elif self.visit is not None:
            told = _visit(self.visit)
        else:
            assert self.stored is not None
            told = {**_run(self.stored, now_ms), "here": False}
        waits = [_wait(holding) for holding in self.waiting[:_STEPS]]
        return {**told, "state": self.state, "age_ms": int(self.age_ms)} | (
            {"waits": waits} if waits else {}
        )


def under_way(
    visits: Iterable[Visit], book: RunBook | None, elsewhere: Sequence[Stored], now_ms: int
) -> list[Seen]:
    """Return all that is under way, the oldest first, what is put away last.

    *visits* are the requests served here, *elsewhere* the runs that the journal has.
    """
    here = {} if book is None else {name: it.live for name, it in book.floor.here.items()}
    found: dict[RunName, Seen] = {}
    now = perf_counter()
    for name, live in here.items():
        found[name] = _seen(name, live.ledger, now_ms - live.record.created_ms, live=live)
    for visit in visits:
        if visit.asked is None:  # nobody knows yet whose it is, and whether it may be made
            continue
        name = RunName(visit.asked.caller.name or "", visit.run or visit.request_id)
        if name not in found:
            found[name] = _seen(name, visit.ledger, 1000 * (now - visit.came), visit=visit)
    for stored in elsewhere:
        name, age_ms = stored.record.name, max(now_ms - stored.record.created_ms, 0)
        if name not in found:
            found[name] = Seen(name, state_of(stored), age_ms, stored=stored)
    return sorted(found.values(), key=lambda seen: seen.order)


def _seen(
    name: RunName,
    ledger: Ledger,
    age_ms: float,
    *,
    visit: Visit | None = None,
    live: LiveRun | None = None,
) -> Seen:
    waiting = ledger.holds.waiting
    state = "held" if waiting else "executing"
    return Seen(name, state, max(age_ms, 0), waiting, visit, live)


def _visit(visit: Visit) -> JsonObject:
    """Return what is told of a request that is no run that is written down."""
    asked, plan, rows = visit.asked, visit.plan, visit.ledger.rows
    known = [row.cost for row in rows if row.cost is not None]
    steps = ["completed" if row.outcome == "ok" else "failed" for row in rows]
    return {
        "id": visit.run or visit.request_id,
        "key": asked.caller.name if asked is not None else None,
        "reason": None,
        "technique": plan.technique if plan is not None else "none",
        "model": plan.model.name if plan is not None else "",
        "session": asked.wishes.session if asked is not None else None,
        "background": False,
        "eta_ms": None,
        "cost_usd": dollars(sum(known)),
        "cost_known": len(known) == len(rows),
        "calls": len(rows),
        "steps": _steps([*steps, "dispatched"]),
        "here": True,
    }


def _as_stored(live: LiveRun) -> Stored:
    steps = tuple(live.steps.values())
    return Stored(live.record, live.standing, 0, lease_ms=1, steps=steps)


def _run(stored: Stored, now_ms: int) -> JsonObject:
    brief = brief_of(stored, now_ms)
    told: JsonObject = {name: brief[name] for name in _TOLD}
    told["key"] = stored.record.name.owner or None
    told["steps"] = _steps([step.state for step in in_order(stored.steps)])
    return told


def _steps(states: Sequence[str]) -> JsonObject:
    """Return the states of the last steps in order, and how many more came before them."""
    return {"states": list(states[-_STEPS:]), "earlier": max(len(states) - _STEPS, 0)}


def _wait(holding: Holding) -> JsonObject:
    return {
        "of": holding.of,
        "account": holding.account or None,
        "reason": holding.reason,
        "position": holding.position,
        "waited_ms": int(1000 * (perf_counter() - holding.since)),
        "eta_ms": holding.eta_ms,
    }
