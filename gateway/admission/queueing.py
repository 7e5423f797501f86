"""The queue of a pool: who is before whom.

Classes go before one another; within a class, start-time fair tags share what there is among
tenants by their weights (Goyal, Vin, Cheng 1996, "Start-time fair queueing"). Who waits longer
than ten seconds for others rises a class; who waits for what its own tenant asked before does not,
or a flood of one tenant would soon stand before all others. Entries that need the same windows
stand in one *lane*; lanes that share no window do not hold each other up.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Lane: TypeAlias = tuple[str, ...]
"""The names of the windows that an entry needs, in order."""

Order: TypeAlias = tuple[int, int, int]
"""Class, tag, number: smaller goes first."""

_AGEING_MS: Final = 10_000
_BEST_BY_AGE: Final = 1
_WINDOWFUL: Final = 1_000_000
_LEAST_WEIGHT: Final = 0.001


@dataclass(slots=True)
class Waiter:
    """One entry in the queue.

    Attributes:
        needs: Of all its leases together.
        since: From when it ages, in milliseconds.
        start: The virtual time at which its tenant would have its turn: until then it does not age.
        order: Its place, by the class to which it has risen.
    """

    id: str
    asks: tuple[tuple[str, Mapping[str, int]], ...]
    needs: Mapping[str, int]
    lane: Lane
    tenant: str
    priority: int
    since: float
    tag: int
    start: int
    order: Order = (0, 0, 0)


def risen(priority: int, waited: float) -> int:
    """Return the class of one that came with *priority* and has waited so many milliseconds."""
    if priority <= _BEST_BY_AGE:
        return priority
    return max(_BEST_BY_AGE, priority - math.floor(max(0, waited) / _AGEING_MS))


def rises_in(priority: int, waited: float) -> float | None:
    """Return the milliseconds until it rises again, None if it does not."""
    if risen(priority, waited) <= _BEST_BY_AGE:
        return None
    return (math.floor(max(0, waited) / _AGEING_MS) + 1) * _AGEING_MS - waited


def cost(share: float, weight: float) -> int:
    """Return what an entry that needs *share* of a window moves its tenant back, in whole steps."""
    return max(1, math.ceil(_WINDOWFUL * share / max(weight, _LEAST_WEIGHT)))


class Deadlines:
    """Times by name, of which the earliest can be asked for: none is due before ``soonest``."""

    __slots__ = ("_heap", "_times", "soonest")

    def __init__(self) -> None:
        self.soonest = math.inf
        self._times: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def __len__(self) -> int:
        return len(self._times)

    def set(self, name: str, time: float) -> None:
        """Set the time of *name*."""
        self._times[name] = time
        heapq.heappush(self._heap, (time, name))
        if time < self.soonest:
            self.soonest = time

    def drop(self, name: str) -> None:
        """Forget *name*, if it is there."""
        self._times.pop(name, None)

    def due(self, now: float, most: int) -> list[str]:
        """Take out up to *most* names whose time has come, earliest first."""
        heap, times = self._heap, self._times
        names: list[str] = []
        while heap and heap[0][0] <= now and len(names) < most:
            time, name = heapq.heappop(heap)
            if times.get(name) == time:
                del times[name]
                names.append(name)
        self.soonest = heap[0][0] if heap else math.inf
        return names


@dataclass(slots=True)
class Standing:
    """Those of one lane in order, and what they need together of each window."""

    order: list[tuple[Order, str]] = field(default_factory=list)
    sums: dict[str, int] = field(default_factory=dict)


class Line:
    """All who wait in a pool."""

    def __init__(self) -> None:
        self.entries: dict[str, Waiter] = {}
        self.lanes: dict[Lane, Standing] = {}
        self.tenants: dict[str, int] = {}
        self.seen = Deadlines()
        self._rises = Deadlines()
        self._finishes: dict[str, int] = {}
        self._virtual = 0
        self._count = 0

    def tag(self, tenant: str, steps: int) -> int:
        """Return the tag of the next entry of *tenant* that moves it back so many *steps*."""
        return max(self._virtual, self._finishes.get(tenant, 0)) + steps

    def enter(self, waiter: Waiter, now: float, *, fresh: bool) -> None:
        """Put *waiter* in; *fresh* tells that its tag is new, and its tenant moves back by it."""
        if fresh:
            self._finishes[waiter.tenant] = waiter.tag
        self._count += 1
        self.entries[waiter.id] = waiter
        self.tenants[waiter.tenant] = self.tenants.get(waiter.tenant, 0) + 1
        self._place(waiter, self._count, now)

    def _place(self, waiter: Waiter, number: int, now: float) -> None:
        waited = now - waiter.since
        waiter.order = (risen(waiter.priority, waited), waiter.tag, number)
        standing = self.lanes.setdefault(waiter.lane, Standing())
        insort(standing.order, (waiter.order, waiter.id))
        for name, need in waiter.needs.items():
            standing.sums[name] = standing.sums.get(name, 0) + need
        rise = rises_in(waiter.priority, waited)
        if rise is not None:
            self._rises.set(waiter.id, now + rise)

    def _unplace(self, waiter: Waiter) -> None:
        standing = self.lanes[waiter.lane]
        del standing.order[bisect_left(standing.order, (waiter.order, waiter.id))]
        if not standing.order:
            del self.lanes[waiter.lane]
        for name, need in waiter.needs.items():
            standing.sums[name] -= need
        self._rises.drop(waiter.id)

    def remove(self, waiter: Waiter, *, granted: bool = False) -> None:
        """Take *waiter* out; when it was *granted*, virtual time goes on to its tag."""
        self._unplace(waiter)
        del self.entries[waiter.id]
        self.seen.drop(waiter.id)
        left = self.tenants[waiter.tenant] - 1
        if left:
            self.tenants[waiter.tenant] = left
        else:
            del self.tenants[waiter.tenant]
        if granted:
            self._virtual = max(self._virtual, waiter.tag)
        if not self.entries:  # nobody is behind virtual time any more
            self._finishes.clear()

    def age(self, now: float, most: int) -> None:
        """Let rise who has waited long enough."""
        for name in self._rises.due(now, most):
            waiter = self.entries[name]
            self._unplace(waiter)
            if waiter.start > self._virtual:
                waiter.since = now - (waiter.priority - waiter.order[0]) * _AGEING_MS
            self._place(waiter, waiter.order[2], now)

    def before(self, waiter: Waiter) -> tuple[int, dict[str, float]]:
        """Return how many are before *waiter*, and about what they need of each of its windows.

        Those before it in a lane are taken to need their share of what the whole lane needs.
        """
        count, needs = 0, dict.fromkeys(waiter.lane, 0.0)
        for lane in sorted(self.lanes):
            shared = [name for name in lane if name in needs]
            if not shared:
                continue
            standing = self.lanes[lane]
            ahead = bisect_left(standing.order, (waiter.order, waiter.id))
            count += ahead
            for name in shared:
                needs[name] += standing.sums[name] * ahead / len(standing.order)
        return count, needs
