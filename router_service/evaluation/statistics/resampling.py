"""Means over prompts and how far they may be off, by drawing whole clusters of prompts anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from router_service.evaluation.statistics.distributions import (
    Numbers,
    normal_quantile,
    normal_share,
)

DRAWS: Final = 5000
LEVEL: Final = 0.95
_AT_ONCE: Final = 2_000_000  # numbers held while drawing

Statistic = Callable[[Numbers, Numbers], Numbers]
"""From sums (draws x columns) and counts (draws) of what was drawn to one number a draw."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``low`` to ``high``, and how it was found."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Clustered:
    """Sums of each cluster's values, a row a cluster and a column each kind, and its prompts."""

    sums: Numbers
    counts: Numbers

    @property
    def size(self) -> int:
        """How many clusters there are."""
        return len(self.counts)

    def means(self) -> Numbers:
        """Return the mean of each cluster, by column."""
        means: Numbers = self.sums / self.counts[:, None]
        return means


def clustered(values: Numbers, clusters: NDArray[np.int64]) -> Clustered:
    """Return *values* (a row a prompt), summed by the cluster that each is in."""
    table = values.reshape(len(values), -1)
    _, place = np.unique(clusters, return_inverse=True)
    size = int(place.max(initial=-1)) + 1
    sums = np.zeros((size, table.shape[1]))
    np.add.at(sums, place, table)
    return Clustered(sums, np.bincount(place, minlength=size).astype(float))


def mean(sums: Numbers, counts: Numbers) -> Numbers:
    """Return the mean of the first column: the ``Statistic`` that is wanted most."""
    means: Numbers = sums[..., 0] / counts
    return means


def drawn(units: Clustered, seed: int, draws: int = DRAWS) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield sums and counts of *draws* samples, as large as the whole, of *units* with return."""
    dice = np.random.default_rng(seed)
    step = max(1, _AT_ONCE // max(units.size, 1))
    for start in range(0, draws, step):
        some = min(step, draws - start)
        picked = dice.integers(0, units.size, (some, units.size))
        yield (
            np.stack([column[picked].sum(1) for column in units.sums.T], axis=-1),
            units.counts[picked].sum(1),
        )


def bca(units: Clustered, statistic: Statistic = mean, seed: int = 0) -> Interval | None:
    """Return the bias-corrected and accelerated interval of *statistic*; None of one unit.

    Source: Efron 1987, JASA 82(397), sections 2 and 6.
    """
    if units.size < 2:
        return None
    found = float(statistic(units.sums.sum(0)[None], units.counts.sum()[None])[0])
    values = np.concatenate([statistic(*sample) for sample in drawn(units, seed)])
    if np.ptp(values) == 0:
        return Interval(found, found, "BCa")
    below = (np.sum(values < found) + np.sum(values == found) / 2) / len(values)
    least = 1 / (len(values) + 1)
    bias = normal_quantile(float(np.clip(below, least, 1 - least)))
    acceleration = _acceleration(units, statistic)
    ends = []
    for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        moved = bias + normal_quantile(share)
        ends.append(normal_share(bias + moved / (1 - acceleration * moved)))
    low, high = np.quantile(values, ends)
    return Interval(float(low), float(high), "BCa")


def _acceleration(units: Clustered, statistic: Statistic) -> float:
    """Return how fast the spread changes with the value, by leaving out one unit after another."""
    left = statistic(units.sums.sum(0) - units.sums, units.counts.sum() - units.counts)
    apart = left.mean() - left
    spread = float(np.sum(apart**2)) ** 1.5
    return float(np.sum(apart**3)) / (6 * spread) if spread > 0 else 0.0
