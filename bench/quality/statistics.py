"""Intervals and differences, with the question as the unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random  # noqa: TID251 - always with a seed
from statistics import fmean
from typing import Final

_Z: Final = 1.959964
_DRAWS: Final = 2000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the ends of its 95 % interval."""

    mean: float
    low: float
    high: float


def share(right: Sequence[float]) -> Estimate:
    """Return the mean of *right*, a share a question: Wilson's interval, or the bootstrap's.

    Wilson's where each question was asked once and is right or wrong; where questions were asked
    repeatedly, whole questions are drawn, for what is asked twice is not two questions.

    Sources: Wilson 1927; Miller 2024, arXiv:2411.00640, section 2.2 (clustered errors).
    """
    if not right:
        return Estimate(0.0, 0.0, 1.0)
    if all(value in {0.0, 1.0} for value in right):
        return _wilson(round(sum(right)), len(right))
    return mean(right)


def mean(values: Sequence[float], seed: int = 0) -> Estimate:
    """Return the mean of *values*, one a question, with the percentile interval of a bootstrap."""
    if not values:
        return Estimate(0.0, 0.0, 0.0)
    dice = Random(seed)
    count = len(values)
    means = sorted(fmean(dice.choices(values, k=count)) for _ in range(_DRAWS))
    return Estimate(fmean(values), _quantile(means, 0.025), _quantile(means, 0.975))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    """Return the mean of *ours* minus *theirs*, question by question, in order."""
    return mean([mine - other for mine, other in zip(ours, theirs, strict=True)])


def _wilson(right: int, of: int) -> Estimate:
    part = right / of
    spread = _Z * _Z / of
    middle = part + spread / 2
    half = _Z * math.sqrt(part * (1 - part) / of + spread / (4 * of))
    return Estimate(
        part,
        max(0.0, (middle - half) / (1 + spread)),
        min(1.0, (middle + half) / (1 + spread)),
    )


def _quantile(ordered: Sequence[float], at: float) -> float:
    place = at * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
