"""Asking for admission, and waiting for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.admission.left import Left
from gateway.admission.purse import Purse
from gateway.admission.queueing import Waiter, cost
from gateway.admission.windows import NEVER, RELEASE
from gateway.stores.ledger import (
    Answer,
    Entry,
    Granted,
    Never,
    Place,
    QueueFull,
    Unknown,
    Waiting,
)
from gateway.stores.memory.defining import AnyWindow
from gateway.stores.memory.pool import UNSEEN_MS, Lease, Pool
from gateway.stores.memory.pump import ABSENT, Head, Verdict, judge, pump, standing


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """How many may wait in a pool, and of them of one tenant."""

    pool: int = 1000
    tenant: int = 250


def admit(pool: Pool, entry: Entry, limits: QueueLimits, *, dispatched: bool) -> Answer:
    """Grant *entry*, or let it wait."""
    answer = _known(pool, entry) or _at_once(pool, entry, dispatched=dispatched)
    if answer is not None:
        return answer
    needs = entry.asks[0].needs if len(entry.asks) == 1 else _together(entry)
    lane = tuple(sorted(needs))
    verdict = judge(pool, lane, needs)
    if verdict.wait in {ABSENT, NEVER}:
        return _impossible(pool, verdict)
    place = entry.place
    steps, tag = _turn(pool, place, _share([pool.windows[name] for name in lane], needs))
    if verdict.wait == 0 and not pool.line.entries:
        pool.grant(entry.asks, tag, dispatched=dispatched)
        return Granted(tag, _all_left(pool, lane))
    asks = tuple((ask.lease, ask.needs) for ask in entry.asks)
    since = pool.now - place.since_ms
    waiter = Waiter(
        entry.id, asks, needs, lane, place.tenant, place.priority, since, tag, tag - steps
    )
    full = _full(pool, place, limits)
    return full or _enter(pool, waiter, place, dispatched=dispatched)


def _known(pool: Pool, entry: Entry) -> Answer | None:
    """Return the answer to what was asked before, None to what is new."""
    name = entry.asks[0].lease
    lease = pool.lease(name)
    if lease is not None and not (lease.ended and lease.sent is None):
        return granted(pool, lease)
    return check(pool, name) if name in pool.line.entries else None


def _at_once(pool: Pool, entry: Entry, *, dispatched: bool) -> Granted | None:
    """Grant the one call of *entry* if nobody waits and it fits: so it is nearly always."""
    if len(entry.asks) != 1 or pool.line.entries:
        return None
    needs = entry.asks[0].needs
    windows = _fitting(pool, needs)
    if windows is None:
        return None
    _, tag = _turn(pool, entry.place, _share(windows, needs))
    pool.grant(entry.asks, tag, dispatched=dispatched)
    return Granted(tag, _left_of(windows, pool.now))


def _fitting(pool: Pool, needs: Mapping[str, int]) -> list[AnyWindow] | None:
    """Return the windows of *needs*, by name, if all of it is there now.

    How long it would have to wait else, ``judge`` tells.
    """
    found: list[AnyWindow] = []
    for name in sorted(needs):
        window = pool.window(name)
        if window is None or window.wait(needs[name]) != 0:
            return None
        found.append(window)
    return found


def _turn(pool: Pool, place: Place, share: float) -> tuple[int, int]:
    """Return how far an entry that needs *share* of a window moves its tenant back, and its tag."""
    steps = cost(share, place.weight)
    return steps, pool.line.tag(place.tenant, steps) if place.tag is None else int(place.tag)


def granted(pool: Pool, first: Lease) -> Granted:
    """Return the answer to who holds *first*, and what was granted with it."""
    leases = filter(None, map(pool.lease, first.entry))
    names = {name for lease in leases for name in lease.amounts}
    return Granted(first.tag, _all_left(pool, sorted(names)))


def _now_granted(pool: Pool, name: str) -> Granted:
    lease = pool.lease(name)
    assert lease is not None
    return granted(pool, lease)


def _all_left(pool: Pool, names: Iterable[str]) -> tuple[Left, ...]:
    """Return what is left of the windows of rates that are called *names*."""
    return _left_of(filter(None, map(pool.window, names)), pool.now)


def _left_of(windows: Iterable[AnyWindow], now: float) -> tuple[Left, ...]:
    """Return what is left of those of *windows* that are of rates, as they are *now*."""
    found = []
    for window in windows:
        if isinstance(window, Purse) or window.kind == "gauge":
            continue
        cap, level = window.cap, window.level
        if window.kind == "bucket":
            full = (cap - level) / max(window.flow, 1e-12) if level < cap else 0.0
        else:
            full = max(0.0, window.ends - now)
        left = math.floor(level) if level > 0 else 0
        found.append(Left(window.name, math.floor(cap), left, math.ceil(full)))
    return tuple(found)


def _together(entry: Entry) -> dict[str, int]:
    needs: dict[str, int] = {}
    for ask in entry.asks:
        for name, need in ask.needs.items():
            needs[name] = needs.get(name, 0) + need
    return needs


def _share(windows: Iterable[AnyWindow], needs: Mapping[str, int]) -> float:
    """Return the largest part that *needs* are of one of *windows*."""
    share = 0.0
    for window in windows:
        if isinstance(window, Purse) or window.cap <= 0:
            continue
        part = needs[window.name] / window.cap
        if part > share:
            share = part
    return share


def _impossible(pool: Pool, verdict: Verdict) -> Answer:
    name = verdict.binding
    window = pool.windows.get(name)
    if window is None:
        return Unknown(name)
    return Never(name, window.left if isinstance(window, Purse) else math.floor(window.cap))


def _full(pool: Pool, place: Place, limits: QueueLimits) -> QueueFull | None:
    if not place.queue:
        return None
    if len(pool.line.entries) >= limits.pool:
        return QueueFull(tenant=False)
    if pool.line.tenants.get(place.tenant, 0) >= limits.tenant:
        return QueueFull(tenant=True)
    return None


def _enter(pool: Pool, waiter: Waiter, place: Place, *, dispatched: bool) -> Answer:
    """Queue *waiter* and see whether it goes at once; if it may not stay, take it out again."""
    line = pool.line
    line.enter(waiter, pool.now, fresh=place.tag is None and place.queue)
    heads = pump(pool, waiter.id, dispatched=dispatched)
    if waiter.id not in line.entries:
        return _now_granted(pool, waiter.id)
    answer = _waiting(pool, waiter, heads)
    if place.queue:
        line.seen.set(waiter.id, pool.now + UNSEEN_MS)
    else:
        line.remove(waiter)
    return answer


def _waiting(pool: Pool, waiter: Waiter, heads: list[Head]) -> Waiting:
    verdict, position = standing(pool, waiter, heads)
    eta = None if verdict.wait == RELEASE else math.ceil(verdict.wait)
    return Waiting(eta, position, verdict.binding, waiter.tag)


def check(pool: Pool, entry: str) -> Answer:
    """Return how *entry* stands."""
    heads = pump(pool, entry)
    lease = pool.lease(entry)
    if lease is not None and not lease.ended:
        return granted(pool, lease)
    waiter = pool.line.entries.get(entry)
    if waiter is None:
        return Unknown("")
    pool.line.seen.set(entry, pool.now + UNSEEN_MS)
    return _waiting(pool, waiter, heads)


def leave(pool: Pool, entry: str) -> None:
    """Take *entry* out, or give back what was granted to it and not sent."""
    waiter = pool.line.entries.get(entry)
    if waiter is not None:
        pool.line.remove(waiter)
    else:
        first = pool.lease(entry)
        for name in first.entry if first is not None else ():
            lease = pool.lease(name)
            if lease is not None and not lease.ended and lease.sent is None:
                pool.free(lease)
    pump(pool)
