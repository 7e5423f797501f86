"""What may be spent on learning: a share of what the traffic of the last 24 hours cost.

A process spends only out of what its own requests cost. So any number of them together stay
within the share with nothing to agree on, and one that starts anew has nothing to spend.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from dataclasses import dataclass
from typing import Final

_DAY_S: Final = 86_400.0
_SLOT_S: Final = 60.0
_LOST_S: Final = 900.0  # after which a hold that nothing came of counts as spent


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to spend now, and what there is in all for 24 hours, in dollars."""

    left_usd: float = 0.0
    total_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class _Hold:
    at: float
    usd: float
    expected_usd: float


class _Day:
    """What came together in the last 24 hours, to the minute."""

    def __init__(self) -> None:
        self._slots: deque[tuple[int, float]] = deque()
        self._sum = 0.0

    def add(self, usd: float, now: float) -> None:
        slot, already = int(now // _SLOT_S), 0.0
        if self._slots and self._slots[-1][0] >= slot:
            slot, already = self._slots.pop()
        self._slots.append((slot, already + usd))
        self._sum += usd

    def total(self, now: float) -> float:
        first = int((now - _DAY_S) // _SLOT_S)
        if self._slots and self._slots[0][0] <= first:
            while self._slots and self._slots[0][0] <= first:
                self._slots.popleft()
            self._sum = math.fsum(usd for _, usd in self._slots)
        return self._sum


class Purse:
    """The money for one purpose of learning: *share* of what the traffic cost.

    Times are in seconds, of one clock. Nothing here waits, so between a look at the allowance and
    the hold that follows from it nobody else of the process can spend.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._earned, self._spent = _Day(), _Day()
        self._holds: defaultdict[str, deque[_Hold]] = defaultdict(deque)

    def earn(self, usd: float, now: float) -> None:
        """Count what a request of the traffic cost."""
        self._earned.add(max(usd, 0.0), now)

    def allowance(self, now: float) -> Allowance:
        """Return what may be spent now; what is held counts as spent."""
        self._give_up(now)
        total = self._share * self._earned.total(now)
        held = sum(hold.usd for holds in self._holds.values() for hold in holds)
        return Allowance(max(total - self._spent.total(now) - held, 0.0), total)

    def spent(self, now: float) -> float:
        """Return what was spent in the last 24 hours, without what is held."""
        self._give_up(now)
        return self._spent.total(now)

    def hold(self, what: str, usd: float, now: float, *, expected_usd: float = 0.0) -> None:
        """Hold *usd* for *what* is done now; without learning it would cost *expected_usd*."""
        self._holds[what].append(_Hold(now, max(usd, 0.0), expected_usd))

    def settle(self, what: str, usd: float, now: float) -> float:
        """Count that *what* was held for longest cost *usd*, and return what that was too much.

        That is what it cost above what was expected anyway; 0 where nothing was held.
        """
        self._give_up(now)
        holds = self._holds.get(what)
        if not holds:
            return 0.0
        extra = max(usd - holds.popleft().expected_usd, 0.0)
        if not holds:
            del self._holds[what]
        self._spent.add(extra, now)
        return extra

    def _give_up(self, now: float) -> None:
        """Count as spent what was held so long ago that nothing will come of it any more."""
        for what in list(self._holds):
            holds = self._holds[what]
            while holds and holds[0].at < now - _LOST_S:
                self._spent.add(holds.popleft().usd, now)
            if not holds:
                del self._holds[what]
