"""Whether two configurations differ on the same prompts, and by how much."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from router_service.evaluation.statistics.distributions import (
    Alternative,
    Numbers,
    binomial_p,
    signed_rank_p,
    t_quantile,
)
from router_service.evaluation.statistics.intervals import deviation
from router_service.evaluation.statistics.resampling import LEVEL, Interval

_MANY_TIES: Final = 0.30
_EXACT_UP_TO: Final = 14  # differences whose signs are all tried
_FLIPS: Final = 20_000
_AT_ONCE: Final = 2_000_000
_MOST_PAIRED: Final = 2500  # differences of which every pair is averaged
_POWER: Final = 0.8
_FEWEST: Final = 6  # of five, all of which agree, each test has p = 1/16


@dataclass(frozen=True, slots=True)
class Tested:
    """The p of a test, which one it was, and those of others that were made beside it."""

    p: float
    test: str
    beside: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Wins:
    """Of how many pairs the second is above, level with, and below the first."""

    above: int
    level: int
    below: int

    @property
    def rate(self) -> float:
        """The share of pairs in which it is above, a level one counted half."""
        total = self.above + self.level + self.below
        return (self.above + self.level / 2) / total if total else 0.5


def compared(
    differences: Numbers,
    alternative: Alternative = "two-sided",
    *,
    binary: bool = False,
    seed: int = 0,
) -> Tested:
    """Test whether *differences*, one a unit, are about 0.

    *binary*: each is -1, 0 or 1, so an exact test of the pairs that disagree is made. Else it is
    Wilcoxon's, or, where many are tied or few are and all signs can be tried, flipping signs.
    """
    if binary:
        above, below = int(np.sum(differences > 0)), int(np.sum(differences < 0))
        return Tested(binomial_p(above, above + below, alternative), "McNemar")
    ranked = signed_rank_p(differences, alternative)
    ties = tied(differences)
    if not ties or (ties <= _MANY_TIES and len(differences) > _EXACT_UP_TO):
        return Tested(ranked, "Wilcoxon")
    flipped = sign_flip_p(differences, alternative, seed)
    return Tested(flipped, "sign flips", (("Wilcoxon", ranked),))


def tied(differences: Numbers) -> float:
    """Return the share of *differences* that are 0, or as large as another one."""
    sizes = np.round(np.abs(differences), 12)
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    return float(np.mean((counts[place] > 1) | (sizes == 0)))


def sign_flip_p(differences: Numbers, alternative: Alternative, seed: int = 0) -> float:
    """Return how often the mean is as far off as it is, were each sign a fair coin's.

    All signs of few differences are tried, of more many drawn. Source: Fisher 1935, The Design of
    Experiments, section 21.
    """
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return 1.0
    found = float(differences.sum())
    near = 1e-9 * float(sizes.sum())
    if len(sizes) <= _EXACT_UP_TO:
        places = np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes))
        return float(np.mean(_as_far(_signed(sizes, places & 1), found, alternative, near)))
    dice = np.random.default_rng(seed)
    hits = 0
    step = max(1, _AT_ONCE // len(sizes))
    for start in range(0, _FLIPS, step):
        coins = dice.integers(0, 2, (min(step, _FLIPS - start), len(sizes)), dtype=np.int8)
        hits += int(np.sum(_as_far(_signed(sizes, coins), found, alternative, near)))
    return (hits + 1) / (_FLIPS + 1)


def _signed(sizes: Numbers, coins: np.ndarray[tuple[int, int], np.dtype[np.integer]]) -> Numbers:
    sums: Numbers = 2 * (coins @ sizes) - sizes.sum()
    return sums


def _as_far(
    sums: Numbers, found: float, alternative: Alternative, near: float
) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    if alternative == "two-sided":
        return np.abs(sums) >= abs(found) - near
    return sums >= found - near if alternative == "greater" else sums <= found + near


def shift(differences: Numbers, seed: int = 0) -> float:
    """Return the median of the means of all pairs of *differences*, of very many a part.

    Source: Hodges, Lehmann 1963, Annals of Mathematical Statistics 34(2).
    """
    if len(differences) > _MOST_PAIRED:
        differences = np.random.default_rng(seed).choice(differences, _MOST_PAIRED, replace=False)
    first, second = np.triu_indices(len(differences))
    return float(np.median((differences[first] + differences[second]) / 2))


def effect(differences: Numbers) -> tuple[float, Interval] | None:
    """Return the mean in standard deviations, with its interval; None where nothing varies.

    Source of the variance: Becker 1988, British Journal of Mathematical and Statistical
    Psychology 41(2).
    """
    count, spread = len(differences), deviation(differences)
    if count < 2 or spread <= 1e-12 * float(np.abs(differences).max()):
        return None
    size = float(differences.mean()) / spread
    reach = t_quantile((1 + LEVEL) / 2, count - 1) * sqrt(1 / count + size**2 / (2 * count))
    return size, Interval(size - reach, size + reach, "t")


def wins(differences: Numbers) -> Wins:
    """Return of how many pairs the second is above, level and below."""
    above, below = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return Wins(above, len(differences) - above - below, below)


def detectable(error: float, units: int) -> float | None:
    """Return the least difference found four times of five, where the standard error is *error*.

    That is 2.8 standard errors of many units: of the two-sided test, and of the power. None: of so
    few units no test finds anything, or they tell nothing of how much they vary.
    """
    if units < _FEWEST or error <= 0:
        return None
    return (t_quantile((1 + LEVEL) / 2, units - 1) + t_quantile(_POWER, units - 1)) * error


def adjusted(ps: list[float]) -> list[float]:
    """Return *ps* adjusted so that of all that are below a level no larger share is false.

    Source: Benjamini, Hochberg 1995, Journal of the Royal Statistical Society B 57(1).
    """
    order = sorted(range(len(ps)), key=ps.__getitem__, reverse=True)
    found = [0.0] * len(ps)
    least = 1.0
    for rank, place in zip(range(len(ps), 0, -1), order, strict=True):
        least = min(least, ps[place] * (len(ps) / rank))
        found[place] = least
    return found
