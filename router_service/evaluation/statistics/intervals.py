"""Where a mean may lie: by resampling, and by closed form where that is better."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from router_service.evaluation.statistics.distributions import (
    Numbers,
    beta_quantile,
    normal_quantile,
    t_quantile,
)
from router_service.evaluation.statistics.resampling import LEVEL, Clustered, Interval, bca

FEW: Final = 30
"""With fewer units the bootstrap is too sure of itself."""

_UPPER: Final = (1 + LEVEL) / 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``units``; ``interval`` is the one to go by, ``others`` what else was found."""

    mean: float
    units: int
    interval: Interval | None
    others: tuple[Interval, ...] = ()


def estimate(
    units: Clustered, seed: int = 0, *, share: bool = False, bounded: bool = False
) -> Estimate:
    """Return the mean of the first column.

    *share*: each unit is one prompt's 0 or 1; *bounded*: no value is less than 0 or more than 1.
    """
    total, count = float(units.sums[:, 0].sum()), float(units.counts.sum())
    drawn = bca(units, seed=seed)
    closed: list[Interval] = []
    flat = drawn is None or drawn.low == drawn.high
    if share and (units.size < FEW or flat):
        hits, tries = round(total), round(count)
        closed = [wilson(hits, tries), clopper_pearson(hits, tries)]
    elif units.size < FEW and (student := by_t(units)) is not None:
        closed = [student]
    found = [*closed, *([drawn] if drawn is not None else [])]
    if bounded:
        found = [Interval(max(one.low, 0.0), min(one.high, 1.0), one.method) for one in found]
    return Estimate(total / count, units.size, found[0] if found else None, tuple(found[1:]))


def by_t(units: Clustered) -> Interval | None:
    """Return the interval by Student's distribution; None of one unit.

    Of clusters that differ in size it is that of a ratio, linearised.
    """
    if units.size < 2:
        return None
    centre = float(units.sums[:, 0].sum() / units.counts.sum())
    reach = t_quantile(_UPPER, units.size - 1) * standard_error(units)
    return Interval(centre - reach, centre + reach, "t")


def standard_error(units: Clustered) -> float:
    """Return the standard error of the mean of the first column, of whole clusters."""
    centre = units.sums[:, 0].sum() / units.counts.sum()
    apart = units.sums[:, 0] - centre * units.counts
    spread = float(np.sum(apart**2)) / (units.size - 1)
    return sqrt(spread / units.size) / float(units.counts.mean())


def wilson(hits: int, tries: int) -> Interval:
    """Return Wilson's interval of a share. Source: Wilson 1927, JASA 22(158)."""
    z = normal_quantile(_UPPER)
    share = hits / tries
    centre = (share + z * z / (2 * tries)) / (1 + z * z / tries)
    reach = z * sqrt(share * (1 - share) / tries + z * z / (4 * tries**2)) / (1 + z * z / tries)
    return Interval(max(0.0, centre - reach), min(1.0, centre + reach), "Wilson")


def clopper_pearson(hits: int, tries: int) -> Interval:
    """Return the exact interval of a share. Source: Clopper, Pearson 1934, Biometrika 26(4)."""
    low = beta_quantile(1 - _UPPER, hits, tries - hits + 1) if hits else 0.0
    high = beta_quantile(_UPPER, hits + 1, tries - hits) if hits < tries else 1.0
    return Interval(low, high, "Clopper-Pearson")


def unvaried(value: float, units: int) -> Interval | None:
    """Return where a mean difference may lie of which all *units* show *value*; None of one unit.

    Each lies between -1 and 1. How many others would not show it is not known; that so many could
    all have been missed is Clopper and Pearson's bound.
    """
    if units < 2:
        return None
    others = 1 - clopper_pearson(units, units).low
    low, high = value - others * (value + 1), value + others * (1 - value)
    return Interval(low, high, "Clopper-Pearson")


def deviation(values: Numbers) -> float:
    """Return the standard deviation of a sample; 0 of one value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
