"""The arithmetic of one window: what is there now, who fits, and what answers and refusals teach.

It is written twice, here and in ``gateway/stores/redis/windows.lua``, in the same order of the same
operations; the differential test holds one against the other. Times are in milliseconds, on the
clock of whoever calls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

RateKind: TypeAlias = Literal["bucket", "fixed", "gauge"]
"""How a window that is not money comes back."""

NEVER: Final = -1
"""A wait that does not end."""

RELEASE: Final = -2
"""A wait that ends when a call does, at no known time."""

_TOLERANCE: Final = 1e-6
_LEAST_FLOW: Final = 0.05
_MARGIN_FROM: Final = 100
_MARGIN: Final = 0.01
_STEP: Final = 0.01
_MOST_STEPS: Final = 0.15
_HALF_LIFE_MS: Final = 30_000
_MOST_BURST: Final = 0.25
_BURST_FADES: Final = 0.9
_LEARNING_MS: Final = 20_000
_LONGEST_GUESS_MS: Final = 60_000
_BLIND_GUESS_MS: Final = 1000
_NOT_LIMITED: Final = -1
_RAISE: Final = 0.5
_ROUNDED_MS: Final = 1000


@dataclass(slots=True)
class Shown:
    """What one answer, to a call sent at ``sent_at``, showed of a window.

    Attributes:
        later: What our own calls that were sent after it are charged with.
        about: The same of those sent just before it, which may have come to be counted after it.
        between: The same of those sent after the reading before it, itself among them.
        ended: It is charged with what it used. Before, its hold would hide what others took: only
            then is anything learned of them.
        exact: Calls in flight have nothing still to be deducted.
        bounded: They have no more than what is held for them.
    """

    remaining: float | None
    limit: float | None
    reset: float | None
    sent_at: float
    later: float = 0
    between: float = 0
    ended: bool = True
    exact: bool = False
    bounded: bool = False
    about: float = 0


@dataclass(slots=True)
class Window:
    """A window of a rate, or a gauge of calls in flight.

    Attributes:
        rate: What a bucket regains in a millisecond; 0 of the other kinds.
        at: When ``level`` was true.
        ends: Of a fixed window, when it is full again.
        ext: What others take in a millisecond, as far as readings show it.
        burst: The most that others lately took at once; part of the margin.
        aimd: What refusals added to the margin; halves in 30 seconds.
        read_at: Of the newest reading, when its call was sent; 0 before the first.
        cold: Nothing was read yet: the first reading may raise the level.
        told: Answers may tell what is left of it; never of a gauge.
    """

    name: str
    kind: RateKind
    cap: float
    level: float
    at: float
    period: float = 0
    ends: float = 0
    rate: float = 0.0
    ext: float = 0.0
    burst: float = 0.0
    aimd: float = 0.0
    blocked: float = 0
    read_at: float = 0
    read_left: float = 0
    held: float = 0
    cold: bool = False
    provisional: bool = False
    told: bool = True

    def __post_init__(self) -> None:
        if self.kind == "bucket" and self.period > 0:
            self.rate = self.cap / self.period
        self.told = self.told and self.kind != "gauge"

    @property
    def flow(self) -> float:
        """What comes back in a millisecond; never less than a twentieth of the nominal rate."""
        return max(_LEAST_FLOW * self.rate, self.rate - self.ext)

    @property
    def margin(self) -> float:
        """What is left alone for what cannot be seen; nothing in a small window."""
        if self.kind != "bucket" or self.cap < _MARGIN_FROM:
            return 0.0
        return _MARGIN * self.cap + self.burst + self.aimd

    def advance(self, now: float) -> None:
        """Bring the level to *now*."""
        passed = now - self.at
        if passed <= 0:
            return
        if self.kind == "bucket":
            level = self.level + passed * self.flow
            self.level = level if level < self.cap else self.cap
        elif self.kind == "fixed" and self.period > 0 and now >= self.ends:
            self.ends += (math.floor((now - self.ends) / self.period) + 1) * self.period
            self.level = self.cap
        if self.aimd > 0:
            self.aimd *= 0.5 ** (passed / _HALF_LIFE_MS)
            if self.aimd < _TOLERANCE * self.cap:
                self.aimd = 0.0
        self.at = now

    def wait(self, need: float, ahead: float = 0) -> float:
        """Return the milliseconds until *need* fits after *ahead* went; or NEVER, or RELEASE.

        A need that the margin leaves no room for is let through by a full window.
        """
        cap = self.cap
        if need > cap:
            if not self.provisional:
                return NEVER
            need = cap
        wanted = need + self.margin if self.kind == "bucket" else need
        lack = (wanted if wanted < cap else cap) + ahead - self.level
        blocked = self.blocked - self.at if self.blocked > self.at else 0
        if lack <= _TOLERANCE:
            return blocked
        if self.kind == "gauge":
            return RELEASE
        return max(blocked, self._until(lack))

    def _until(self, lack: float) -> float:
        if self.kind == "bucket":
            return max(1, math.ceil(lack / max(self.flow, 1e-12) - _TOLERANCE))
        turns = max(1, math.ceil(lack / self.cap - _TOLERANCE)) if self.cap > 0 else 1
        return max(1, self.ends - self.at) + (turns - 1) * self.period

    def take(self, amount: float) -> None:
        """Hold *amount*."""
        self.level -= amount
        self.held += amount

    def extend(self, more: float) -> None:
        """Hold *more*, which is being used already; what was not there raises the margin."""
        self.take(more)
        if self.level < 0 and self.kind == "bucket":
            self._widen()

    def end(self, hold: float, charge: float, since: float) -> None:
        """Replace a *hold*, taken at *since*, by what it came to. Gauges come back whole."""
        self.held -= hold
        self._return(hold if self.kind == "gauge" else hold - charge, since)

    def correct(self, old: float, new: float, since: float) -> None:
        """Replace a charge of a call that was granted at *since* by another."""
        if self.kind != "gauge":
            self._return(old - new, since)

    def _return(self, amount: float, since: float) -> None:
        # A fixed window that began anew owes nothing to what was held in the one before.
        if self.kind != "fixed" or since >= self.ends - self.period:
            level = self.level + amount
            self.level = level if level < self.cap else self.cap

    def refuse(self, hold: float, retry_after: float | None, *, drained: bool) -> None:
        """Take in a 429; *drained* tells that it was for this window. The hold is back already."""
        self._widen()
        if retry_after is None:
            retry_after = _BLIND_GUESS_MS
            if self.rate > 0 and hold > 0:
                retry_after = min(_LONGEST_GUESS_MS, hold / self.rate)
        self.blocked = max(self.blocked, self.at + retry_after)
        if self.kind == "fixed" and self.at + retry_after + _ROUNDED_MS < self.ends:
            return  # it would last until the boundary
        if drained and self.kind != "gauge":
            left = hold - retry_after * self.rate if self.rate > 0 else 0
            self.level = min(self.level, left)

    def _widen(self) -> None:
        self.aimd = min(_MOST_STEPS * self.cap, self.aimd + _STEP * self.cap)

    def read(self, shown: Shown) -> None:
        """Take in a reading.

        It lowers the level; the first after a cold start may raise it, and one that is exact or
        bounded does, by half. -1 remaining, as some send for "not limited", is no reading.
        """
        if shown.remaining == _NOT_LIMITED:
            return
        if shown.limit is not None and shown.limit > 0:
            self.resize(shown.limit)
        if self.kind == "fixed" and not self._turned(shown):
            return
        if shown.remaining is not None and self.kind != "gauge":
            self._clamp(shown, shown.remaining)

    def _turned(self, shown: Shown) -> bool:
        """Set the boundary as it was shown; False if the reading is of an earlier turn.

        It is no later than the reset from now, and no earlier than that from when the call was
        sent, but for rounding: of all that is shown the earliest stands, until it is disproved.
        """
        if shown.reset is None or shown.reset <= 0:
            return shown.sent_at >= self.ends - self.period
        earliest = shown.sent_at + shown.reset - min(_ROUNDED_MS, self.period / 10)
        turns = max(0, math.floor((self.ends - earliest) / self.period)) if self.period > 0 else 0
        latest = self.at + shown.reset + turns * self.period
        if earliest - self.ends > self.period / 2:  # its next turn has begun before ours did
            self.level, self.cold = self.cap, True
        if latest < self.ends or earliest > self.ends:
            self.ends = latest
        return turns == 0

    def _clamp(self, shown: Shown, remaining: float) -> None:
        there = remaining - shown.later
        newer = shown.ended and shown.sent_at > self.read_at
        if self.kind == "bucket":
            if newer and self.read_at > 0:
                self._learn(shown, remaining)
            there += (self.at - shown.sent_at) * self.flow
        if newer:
            self.read_at, self.read_left = shown.sent_at, remaining
        there = min(self.cap, there)
        if self.cold or there < self.level:
            self.level = there
        elif shown.exact or shown.bounded:
            sure = there - shown.about - (0 if shown.exact else self.held)
            if sure > self.level:
                self.level += _RAISE * (sure - self.level)
        self.cold = False

    def _learn(self, shown: Shown, remaining: float) -> None:
        """Learn of what vanished since the last reading and was not ours."""
        passed = shown.sent_at - self.read_at
        expected = min(self.cap, self.read_left + passed * self.rate) - shown.between
        unseen = max(0.0, expected - remaining)
        weight = min(1.0, passed / _LEARNING_MS)
        drain = (1 - weight) * self.ext + weight * (unseen / passed)
        self.ext = min(self.rate, drain)
        self.burst = min(_MOST_BURST * self.cap, max(unseen, _BURST_FADES * self.burst))

    def chill(self, level: float) -> None:
        """Leave *level* of it at most: what is true, the next reading tells."""
        self.level = min(self.level, level)
        self.cold = True

    def reshape(self, kind: RateKind, period: float, ends: float) -> None:
        """Change how it comes back, a bucket or a fixed window."""
        self.kind, self.period, self.ends = kind, period, ends
        self.rate = self.cap / period if kind == "bucket" and period > 0 else 0.0

    def resize(self, cap: float) -> None:
        """Change the size; what is there is never made more by it, but gauges gain room."""
        if self.kind == "gauge":
            self.level += cap - self.cap
        elif self.kind == "bucket" and self.period > 0:
            self.rate = cap / self.period
        self.cap = cap
        self.level = min(self.level, cap)
