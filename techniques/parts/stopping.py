"""When more samples cannot, or most likely will not, change the outcome."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final

FIRST_WAVE: Final = 3
SCORE_NOISE: Final = 0.06
"""Standard deviation of one judge's score of one text, until it is measured."""
SURENESS_SPREAD: Final = 0.03
"""The least that draws for one question are taken to differ in how likely their tokens are."""


@dataclass(frozen=True, slots=True)
class Lead:
    """How a vote stands: votes of the first and of what can beat it, and draws still to come.

    Where votes weigh unlike, ``weight`` is by how much the first is ahead; a draw still to come
    weighs at most 1. None: each counts 1.
    """

    first: int
    second: int
    left: int
    weight: float | None = None

    @property
    def ahead(self) -> float:
        """By how much the first is ahead."""
        return self.first - self.second if self.weight is None else self.weight

    @property
    def decided(self) -> bool:
        """Whether no further draw can change who wins. Safe to test at every completion."""
        return self.ahead > self.left

    def after(self, draws: int) -> Lead:
        """Return how it would stand if all of *draws* more went to the first."""
        return Lead(self.first + draws, self.second, self.left - draws, self.ahead + draws)


def confidence(first: int, second: int) -> float:
    """Return how sure *first* votes against *second* make it that the first is the majority.

    ``1 - I(1/2; first + 1, second + 1)``, as the exact binomial sum it equals for whole numbers.
    Only to be tested when a wave is complete: quick answers come first and are often alike.

    Source: Aggarwal et al. 2023, arXiv:2305.11860, section 3 (Beta stopping).
    """
    trials = first + second + 1
    ways = sum(math.comb(trials, hits) for hits in range(first + 1))
    return ways / (1 << trials)


def next_wave(lead: Lead, threshold: float | None) -> int:
    """Return the least number of further draws that could end the vote, 0 if it has ended.

    *threshold* is the ``confidence`` that suffices, None if only certainty does.
    """
    if lead.left <= 0 or lead.decided or _sure(lead, threshold):
        return 0
    for wave in range(1, lead.left):
        then = lead.after(wave)
        if then.decided or _sure(then, threshold):
            return wave
    return lead.left


def expected_gain(scores: Sequence[float], noise: float = SCORE_NOISE) -> float:
    """Return by how much one more draw is expected to raise the best of *scores*.

    For normal scores of the mean and spread seen so far. Few scores that are alike say little of
    the spread: it is taken to be at least *noise*, times the square root of 2 / (n - 1). With fewer
    than two scores nothing is known: infinity.
    """
    if len(scores) < 2:
        return math.inf
    spread = max(stdev(scores), noise * math.sqrt(2 / (len(scores) - 1)))
    above = (max(scores) - fmean(scores)) / spread
    density = math.exp(-above * above / 2) / math.sqrt(2 * math.pi)
    beyond = math.erfc(above / math.sqrt(2)) / 2
    return spread * (density - above * beyond)


def enough(
    scores: Sequence[float], stop_at: float, price: float | None, noise: float = SCORE_NOISE
) -> bool:
    """Tell whether the best of *scores* will do.

    It reaches *stop_at*, or one more draw is expected to gain less than a hundredth of *price*,
    its cost in plain calls; None leaves this second rule out.
    """
    if scores and max(scores) >= stop_at:
        return True
    return price is not None and 100 * expected_gain(scores, noise) < price


def share_interval(votes: int, of: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share of *votes* *of* draws, *of* at least 1."""
    z = 1.96
    share, spread = votes / of, z * z / of
    middle = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def _sure(lead: Lead, threshold: float | None) -> bool:
    return (
        threshold is not None
        and lead.first > lead.second
        and lead.ahead > 0
        and confidence(lead.first, lead.second) >= threshold
    )
