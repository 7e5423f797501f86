"""The last values of one kind, and a bound that the next one keeps to nearly always."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Sequence
from math import ceil
from typing import Final

LONG: Final = 200
SHORT: Final = 30
LEAST: Final = 20
"""Fewer values than this say nothing of how often a bound of theirs is passed."""

MISSED: Final = 0.02
STEP: Final = 0.005
EVERY: Final = 8
_LOWEST, _HIGHEST = 0.90, 0.999
_LOOK_EVERY: Final = 20
_APART: Final = 0.4
_USUAL: Final = 0.99
_FEW: Final = 16


class Stream:
    """The last 200 values, the bound of the next, and how often the bound was passed.

    The bound is the larger of the conformal quantiles of the last 200 and of the last 30 values:
    a sudden rise is in the second at once. Where the last 30 are distributed unlike those before,
    the older ones are forgotten. The quantile's share follows the misses, so that their share
    comes to *missed* whatever the distribution.

    The values are put in order once *every* more have come and a bound is asked for, or when one
    passed it: so both taking one in and asking cost next to nothing.

    Source: split conformal prediction (Vovk et al. 2005, section 4.2.2); adaptive conformal
    inference (Gibbs and Candes 2021, section 2); two-sample Kolmogorov-Smirnov statistic.
    """

    __slots__ = (
        "_every",
        "_figures",
        "_fresh",
        "_gone",
        "_missed",
        "_ordered",
        "_step",
        "_unlooked",
        "recent",
        "share",
    )

    def __init__(self, missed: float = MISSED, step: float = STEP, every: int = EVERY) -> None:
        self.share = 1 - missed
        """The quantile that the bound is; between 0.90 and 0.999."""
        self._missed = missed
        self._step = step
        self._every = every
        self.recent: deque[float] = deque(maxlen=LONG)
        """The values themselves, the oldest first."""
        self._ordered: list[float] = []
        self._gone: list[float] = []
        self._fresh = 0
        self._unlooked = 0
        self._figures: tuple[float, float, float] | None = None

    def __len__(self) -> int:
        return len(self.recent)

    def record(self, value: float) -> None:
        """Take in *value*."""
        recent, fresh = self.recent, self._fresh
        if fresh < _FEW and len(recent) == LONG:
            self._gone.append(recent[0])
        recent.append(value)
        self._fresh = fresh + 1

    def adapt(self, *, missed: bool) -> None:
        """Take in whether a value passed the bound that had been given for it."""
        if missed:
            self.share = min(self.share + self._step * (1 - self._missed), _HIGHEST)
            self._figures = None
        else:
            self.share = max(self.share - self._step * self._missed, _LOWEST)

    def bound(self) -> float:
        """Return what the next value is not above, but for a share of them; there must be one."""
        return self.figures()[0]

    def figures(self) -> tuple[float, float, float]:
        """Return the bound, the median and what 99 of 100 values are not above.

        There must be a value.
        """
        figures = self._figures
        if figures is None or self._fresh >= self._every:
            figures = self._figures = self._newly()
        return figures

    def largest(self) -> float:
        """Return the largest of the last 200 values; there must be one."""
        self.figures()
        return self._ordered[-1]

    def _newly(self) -> tuple[float, float, float]:
        values = list(self.recent)
        ordered, last = self._order(values), sorted(values[-SHORT:])
        self._unlooked += self._fresh
        self._fresh = 0
        if self._unlooked >= _LOOK_EVERY and len(values) >= 2 * SHORT:
            self._unlooked = 0
            if apart(last, ordered):
                self.recent = deque(values[-SHORT:], maxlen=LONG)
                ordered = last
        self._ordered = ordered
        count, few, share = len(ordered), len(last), self.share
        bound = ordered[min(ceil(share * (count + 1)), count) - 1]
        lately = last[min(ceil(share * (few + 1)), few) - 1]
        usual = ordered[ceil(_USUAL * count) - 1]
        return (lately if lately > bound else bound), ordered[(count - 1) // 2], usual

    def _order(self, values: Sequence[float]) -> list[float]:
        """Return *values* in order; a few new ones are put in their places."""
        ordered, gone, fresh = self._ordered, self._gone, self._fresh
        if fresh > _FEW:
            ordered = sorted(values)
        else:
            for value in gone:
                del ordered[bisect_left(ordered, value)]
            for value in values[-fresh:] if fresh else ():
                insort(ordered, value)
        gone.clear()
        return ordered


def apart(last: Sequence[float], ordered: Sequence[float]) -> bool:
    """Return whether *last* are distributed unlike the rest of *ordered*, which holds them too.

    Both are in order. They are apart where their distribution functions differ by more than 0.4.
    """
    few, rest = len(last), len(ordered) - len(last)
    for place, value in enumerate(last):
        here = place + 1
        if here / few - (bisect_right(ordered, value) - here) / rest > _APART:
            return True
        if (bisect_left(ordered, value) - place) / rest - place / few > _APART:
            return True
    return False
