"""What a provider counts: buckets that fill continuously, and counters that start anew.

Written apart from the gateway, which is the other side. Times are seconds of one clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, Protocol

_SLACK = 1e-9  # what floating point may lack


class Window(Protocol):
    """A limit: so much in so much time."""

    cap: int
    period_s: float
    kind: Literal["bucket", "fixed"]

    def left(self, now: float) -> float:
        """Return how much is there; less than nothing where more was taken than there was."""
        ...

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until *amount* is there, infinite if it never will be."""
        ...

    def take(self, amount: float, now: float) -> None:
        """Take *amount* out, whether it is there or not."""
        ...

    def full_in(self, now: float) -> float:
        """Return the seconds until all of it is there again."""
        ...


@dataclass
class Bucket:
    """Starts full and fills continuously."""

    cap: int
    period_s: float = 60.0
    kind: Literal["bucket", "fixed"] = "bucket"
    _level: float = field(init=False)
    _at: float = field(default=-math.inf, init=False)

    def __post_init__(self) -> None:
        self._level = float(self.cap)

    @property
    def rate(self) -> float:
        """How much comes back in a second."""
        return self.cap / self.period_s

    def left(self, now: float) -> float:
        """Return how much is there."""
        if now > self._at:
            if self._level < self.cap:
                self._level = min(self.cap, self._level + (now - self._at) * self.rate)
            self._at = now
        return self._level

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until *amount* is there, infinite if it never will be."""
        if amount > self.cap:
            return math.inf
        lack = amount - self.left(now)
        return lack / self.rate if lack > _SLACK else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take *amount* out."""
        self._level = self.left(now) - amount

    def full_in(self, now: float) -> float:
        """Return the seconds until it is full."""
        return max(0.0, self.cap - self.left(now)) / self.rate


@dataclass
class Counter:
    """Is whole again at each boundary: ``origin`` and every period after it.

    ``wasted`` is what was left at the ends of those that something was taken from or that passed
    between two such.
    """

    cap: int
    period_s: float = 60.0
    origin: float = 0.0
    kind: Literal["bucket", "fixed"] = "fixed"
    wasted: float = field(default=0.0, init=False)
    _spent: float = field(default=0.0, init=False)
    _number: int | None = field(default=None, init=False)

    def left(self, now: float) -> float:
        """Return how much is there."""
        number = math.floor((now - self.origin) / self.period_s + _SLACK)
        if self._number is None:
            self._number = number
        if number > self._number:
            self.wasted += self.cap - self._spent + (number - self._number - 1) * self.cap
            self._number, self._spent = number, 0.0
        return self.cap - self._spent

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until *amount* is there, infinite if it never will be."""
        if amount > self.cap:
            return math.inf
        return 0.0 if amount <= self.left(now) + _SLACK else self.full_in(now)

    def take(self, amount: float, now: float) -> None:
        """Take *amount* out."""
        self.left(now)
        self._spent += amount

    def full_in(self, now: float) -> float:
        """Return the seconds until its next boundary."""
        self.left(now)
        assert self._number is not None
        return self.origin + (self._number + 1) * self.period_s - now
