"""Means of groups within groups, each shrunk towards that of the group around it.

``mean = (n * seen + kappa * above) / (n + kappa)`` at each level, written as what the level adds to
the one above it: so what is left over (the residuals) can be handed to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.estimating.partition import Codes, Numbers

Keys: TypeAlias = NDArray[np.int64]
ARM_KAPPA: Final = 20.0
KIND_KAPPA: Final = 20.0
COST_KAPPA: Final = (
    1.0  # what calls cost differs little from one to the next, and from a guess much
)
_LEAST_KAPPA: Final = 5.0
_MOST_KAPPA: Final = 1e6
_NOTHING: Final = (0.0, 0.0)
_WIDTH: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Level:
    """What each group of it adds and how many rows that rests on, by ``_key``."""

    groups: Mapping[int, tuple[float, float]]

    def at(self, arm: int, group: int) -> tuple[float, float]:
        """Return what *group* of *arm* adds and its rows; nothing where it is not known."""
        return self.groups.get(_key(arm, group), _NOTHING) if group >= 0 else _NOTHING


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels from coarse to fine: the arm itself, then the groups of requests."""

    levels: tuple[Level, ...]

    def at(self, arm: int, groups: Sequence[int]) -> float:
        """Return what is to be added for *arm* and a request in *groups*, -1: in none."""
        pairs = zip(self.levels, (0, *groups), strict=True)
        return sum(level.at(arm, group)[0] for level, group in pairs)

    def rows(self, arm: int) -> float:
        """Return the weight of the rows of *arm*."""
        return self.levels[0].at(arm, 0)[1]


def fitted(
    values: Numbers, weights: Numbers, arms: Codes, groups: Codes, *, least: float | None = None
) -> tuple[Levels, Numbers]:
    """Return the levels of *values*, a column of *groups* each, and what they leave over.

    How far arms are shrunk is fixed. Groups are shrunk as far as their values say, and not less
    than a fixed amount: where they differ by no more than chance would have it, they add nothing.
    *least* takes the place of all of these amounts.
    """
    left = values.copy()
    found = []
    for place, column in enumerate((np.zeros_like(arms), *groups.T)):
        fewest = (ARM_KAPPA, KIND_KAPPA, _LEAST_KAPPA)[min(place, 2)] if least is None else least
        several = place > 0 and len(np.unique(column)) > 1
        level, adds = _level(left, weights, _keys(arms, column), fewest, told=several)
        left -= adds
        found.append(level)
    return Levels(tuple(found)), left


def moved(left: Numbers, weights: Numbers, arms: Codes) -> Numbers:
    """Return by how much each row moved the mean of its arm, given what is *left* of it.

    ``left + moved`` is what it is above the mean of the others.
    """
    rows = total(arms, weights, int(arms.max(initial=-1)) + 1)[arms]
    return left * weights / (rows - weights + ARM_KAPPA)


def _key(arm: int, group: int) -> int:
    return arm * _WIDTH + group


def _keys(arms: Codes, groups: Codes) -> Keys:
    """Return what the group of each row is found by, -1 for those in none."""
    return np.where(groups < 0, -1, arms.astype(np.int64) * _WIDTH + groups)


def _level(
    left: Numbers, weights: Numbers, keys: Keys, kappa: float, *, told: bool
) -> tuple[Level, Numbers]:
    """Return the level of *keys* and what it adds to each row."""
    known, place = np.unique(keys, return_inverse=True)
    weights = np.where(keys < 0, 0.0, weights)
    counts = total(place, weights, len(known))
    sums = total(place, weights * left, len(known))
    if told:
        kappa = max(kappa, _told(left, weights, counts, sums))
    adds = sums / (counts + kappa)
    pairs = zip(adds.tolist(), counts.tolist(), strict=True)
    return Level(dict(zip(known.tolist(), pairs, strict=True))), adds[place]


def _told(left: Numbers, weights: Numbers, counts: Numbers, sums: Numbers) -> float:
    """Return the kappa that fits: the variance within groups over that between them.

    Source: DerSimonian and Laird 1986, section 2 (moments of a random effect about nothing).
    """
    rows = counts.sum()
    there = counts > 0
    freedom = rows - there.sum()
    if freedom <= 0:
        return _MOST_KAPPA
    between = float((sums[there] ** 2 / counts[there]).sum())
    within = max(float((weights * left**2).sum()) - between, 0.0) / freedom
    spread = (between - there.sum() * within) / rows
    if spread <= 0:
        return _MOST_KAPPA
    return min(float(within / spread), _MOST_KAPPA)


def total(places: NDArray[np.integer], values: Numbers, count: int) -> Numbers:
    """Return the sum of the *values* at each of the *places* below *count*."""
    return np.bincount(places, values, count).astype(np.float64)
