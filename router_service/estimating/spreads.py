"""How much the gains of each arm vary, and how much longer it takes than the plain call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from router_service.estimating.entries import Entries
from router_service.estimating.experience import Experience
from router_service.estimating.levels import ARM_KAPPA, total
from router_service.estimating.partition import Codes, Numbers

_FLOOR: Final = 0.05
_UNSEEN: Final = 0.5  # as wide as a coin: what nobody saw yet may be anything
_UNSEEN_ROWS: Final = 4.0
_GROUP_ROWS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Spreads:
    """The variance of gains: ``own`` of each arm, the last for any other, all kinds together.

    ``times`` is by how much that of a group of requests is greater or less, by its code, for each
    level: an answer to what is easy is right each time, and one to what is hard is a coin's throw.
    """

    own: Numbers
    times: tuple[Numbers, ...]

    def at(self, arm: int, groups: Sequence[int]) -> float:
        """Return the standard deviation for *arm* (-1: one never seen) in *groups*, -1: in none."""
        variance = float(self.own[arm])
        for times, group in zip(self.times, groups, strict=True):
            variance *= float(times[group]) if 0 <= group < len(times) else 1.0
        return max(math.sqrt(variance), _FLOOR)


def spreads(left: Numbers, made: Entries) -> Spreads:
    """Return how what is *left* varies, by arm, and for all arms alike by group."""
    rows = total(made.arm, made.counts, made.plain + 1)
    squares = total(made.arm, made.counts * left**2, made.plain + 1)
    together = (squares[:-1].sum() + _UNSEEN_ROWS * _UNSEEN**2) / (rows[:-1].sum() + _UNSEEN_ROWS)
    own = (squares + _UNSEEN_ROWS * together) / (rows + _UNSEEN_ROWS)
    found = np.append(own, together)
    gains = made.arm < made.plain
    ratio, times = left[gains] ** 2 / found[made.arm[gains]], []
    for column in made.groups[gains].T:
        times.append(_times(ratio, made.counts[gains], column))
        there = column >= 0
        ratio[there] /= times[-1][column[there]]
    return Spreads(found, tuple(times))


def _times(ratio: Numbers, counts: Numbers, column: Codes) -> Numbers:
    """Return the mean *ratio* of each group in *column*, as if some rows more had a ratio of 1."""
    there, size = column >= 0, int(column.max(initial=-1)) + 1
    rows = total(column[there], counts[there], size)
    sums = total(column[there], counts[there] * ratio[there], size)
    return (sums + _GROUP_ROWS) / (rows + _GROUP_ROWS)


def seconds(known: Experience) -> Numbers:
    """Return how much longer each arm takes than the plain call, shrunk as gains are."""
    columns = known.columns
    there = np.flatnonzero(~np.isnan(columns.latency))
    size = len(known.arms)
    rows = np.bincount(columns.arm[there], minlength=size)
    sums = np.bincount(columns.arm[there], columns.latency[there] / 1000, size)
    plain = known.arms.get("none", -1)
    if plain < 0 or not rows[plain]:
        return np.zeros(size)
    return np.where(rows > 0, (sums - rows * sums[plain] / rows[plain]) / (rows + ARM_KAPPA), 0.0)
