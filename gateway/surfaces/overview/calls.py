"""What is under way: the requests that this process serves, and runs of all that share a journal.

A run that is carried out here is told of as it is in memory, others as the journal has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Final

from gateway.metering.holds import Holding
from gateway.runs.book import RunBook
from gateway.runs.live import LiveRun
from gateway.stores.journal.records import RunName, Stored
from gateway.surfaces.run_view import brief_of, in_order
from gateway.surfaces.visit import Visit
from pricing.cost import dollars
from techniques.core.json import JsonObject

MOST: Final = 40
"""So many are told of; of the others, how many there are."""
_STEPS: Final = 24
_TOLD: Final = (
    "id",
    "state",
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


def under_way(
    visits: Iterable[Visit], book: RunBook | None, elsewhere: Sequence[Stored], now_ms: int
) -> list[JsonObject]:
    """Return what is told of all that is under way, the oldest first, what is put away last.

    *visits* are the requests served here, *elsewhere* the runs that the journal has.
    """
    runs = {} if book is None else {name: it.live for name, it in book.floor.here.items()}
    found: dict[RunName, JsonObject] = {}
    for visit in visits:
        if visit.asked is None:  # nobody knows yet whose it is, and whether it may be made
            continue
        name = RunName(visit.asked.caller.name or "", visit.run or visit.request_id)
        told = found.get(name)
        if told is None:
            live = runs.get(name)
            told = _visit(visit) if live is None else _live(live, now_ms)
            found[name] = told
        told.update(_waits(visit.ledger.holds.waiting))
    for name, live in runs.items():  # those that nobody waits for
        if name not in found:
            found[name] = {**_live(live, now_ms), **_waits(live.ledger.holds.waiting)}
    for stored in elsewhere:
        if stored.record.name not in found:
            found[stored.record.name] = {**_run(stored, now_ms), "here": False}
    return sorted(found.values(), key=_order)


def _order(told: JsonObject) -> tuple[bool, int, str]:
    """Return the place of a run: one that is held stands where it stood, and nothing jumps."""
    return told["state"] not in ("executing", "held"), -told["age_ms"], told["id"]


def _visit(visit: Visit) -> JsonObject:
    """Return what is told of a request that is no run that is written down."""
    asked, plan, rows = visit.asked, visit.plan, visit.ledger.rows
    known = [row.cost for row in rows if row.cost is not None]
    steps = ["completed" if row.outcome == "ok" else "failed" for row in rows]
    return {
        "id": visit.run or visit.request_id,
        "key": asked.caller.name if asked is not None else None,
        "state": "executing",
        "reason": None,
        "technique": plan.technique if plan is not None else "none",
        "model": plan.model.name if plan is not None else "",
        "session": asked.wishes.session if asked is not None else None,
        "background": False,
        "age_ms": int(1000 * (perf_counter() - visit.came)),
        "eta_ms": None,
        "cost_usd": dollars(sum(known)),
        "cost_known": len(known) == len(rows),
        "calls": len(rows),
        "steps": _steps([*steps, "dispatched"]),
        "here": True,
    }


def _live(live: LiveRun, now_ms: int) -> JsonObject:
    steps = tuple(live.steps.values())
    stored = Stored(live.record, live.standing, 0, lease_ms=1, steps=steps)
    return {**_run(stored, now_ms), "here": True}


def _run(stored: Stored, now_ms: int) -> JsonObject:
    brief = brief_of(stored, now_ms)
    told: JsonObject = {name: brief[name] for name in _TOLD}
    told["key"] = stored.record.name.owner or None
    told["age_ms"] = max(now_ms - stored.record.created_ms, 0)
    told["steps"] = _steps([step.state for step in in_order(stored.steps)])
    return told


def _steps(states: Sequence[str]) -> JsonObject:
    """Return the states of the last steps in order, and how many more came before them."""
    return {"states": list(states[-_STEPS:]), "earlier": max(len(states) - _STEPS, 0)}


def _waits(waiting: Sequence[Holding]) -> JsonObject:
    """Return what is told of a request of which some sub-calls wait; nothing if none does."""
    if not waiting:
        return {}
    return {"state": "held", "waits": [_wait(holding) for holding in waiting[:_STEPS]]}


def _wait(holding: Holding) -> JsonObject:
    return {
        "of": holding.of,
        "account": holding.account or None,
        "reason": holding.reason,
        "position": holding.position,
        "waited_ms": int(1000 * (perf_counter() - holding.since)),
        "eta_ms": holding.eta_ms,
    }
