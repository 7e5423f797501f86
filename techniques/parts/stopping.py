"""When more samples cannot, or most likely will not, change the outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean, stdev
from typing import Final, TypeAlias

from pricing.record import record

FIRST_WAVE: Final = 3
SCORE_NOISE: Final = 0.06
"""Standard deviation of one judge's score of one text, until it is measured."""
SURENESS_SPREAD: Final = 0.03
"""The least that draws for one question are taken to differ in how likely their tokens are."""
_ROUNDING: Final = 1e-9  # sums of votes that should be whole may be off by this


@record(frozen=True, slots=True)
class Lead:
    """How a vote stands: votes of the first and of what can beat it, and draws still to come.

    Where votes weigh unlike, ``weight`` is by how much the first is ahead; None: each counts 1.
    ``others`` are votes for what is neither first nor second. ``coming`` is the most that each
    draw still to come can weigh, in their order; None: 1 each.
    """

    first: float
    second: float
    left: int
    weight: float | None = None
    others: float = 0
    coming: tuple[float, ...] | None = None

    @property
    def ahead(self) -> float:
        """By how much the first is ahead."""
        return self.first - self.second if self.weight is None else self.weight

    @property
    def decided(self) -> bool:
        """Whether no further draw can change who wins. Safe to test at every completion."""
        return self.ahead > (self.left if self.coming is None else sum(self.coming))

    def after(self, draws: int) -> Lead:
        """Return how it would stand if all of *draws* more went to the first."""
        if self.coming is None:
            gain, coming = float(draws), None
        else:
            gain, coming = sum(self.coming[:draws]), self.coming[draws:]
        return Lead(
            self.first + gain,
            self.second,
            self.left - draws,
            self.ahead + gain,
            self.others,
            coming,
        )


Chance: TypeAlias = Callable[[Lead], float]
"""How sure it is, 0 to 1, that a vote ends as it stands. Votes that are worth less than one are
rounded against the first. Only to be asked when a wave is complete: quick answers come first and
are often alike."""


def confidence(first: int, second: int) -> float:
    """Return how sure *first* votes against *second* make it that the first is the majority.

    ``1 - I(1/2; first + 1, second + 1)``, as the exact binomial sum it equals for whole numbers.

    Source: Aggarwal et al. 2023, arXiv:2305.11860, section 3 (Beta stopping).
    """
    trials = first + second + 1
    ways = sum(math.comb(trials, hits) for hits in range(first + 1))
    return ways / (1 << trials)


def majority(lead: Lead) -> float:
    """Return how sure it is that the first of *lead* is the most frequent answer there is."""
    return confidence(*_whole(lead))


def forecast(lead: Lead) -> float:
    """Return how likely the first of *lead* still is the first when all draws were made.

    What is to come is foretold from what came, with nothing known before (a uniform Dirichlet
    prior over first, second and all others). A tie at the end counts half.

    Source: Spiegelhalter et al. 1986, Controlled Clinical Trials 7 (stopping by predictive power).
    """
    first, second = _whole(lead)
    return _foretold(first, second, math.floor(lead.others), lead.left)


def next_wave(lead: Lead, threshold: float | None, chance: Chance = majority) -> int:
    """Return the least number of further draws that could end the vote, 0 if it has ended.

    *threshold* is the *chance* that suffices, None if only certainty does.
    """
    if lead.left <= 0 or lead.decided or _sure(lead, threshold, chance):
        return 0
    for wave in range(1, lead.left):
        then = lead.after(wave)
        if then.decided or _sure(then, threshold, chance):
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


def _whole(lead: Lead) -> tuple[int, int]:
    return math.floor(lead.first + _ROUNDING), math.ceil(lead.second - _ROUNDING)


def _foretold(first: int, second: int, others: int, left: int) -> float:
    ways = 0
    for gains in range(left + 1):
        for losses in range(min(left - gains, first + gains - second) + 1):
            rest = left - gains - losses
            these = (
                math.comb(first + gains, gains)
                * math.comb(second + losses, losses)
                * math.comb(others + rest, rest)
            )
            tied = second + losses == first + gains
            ways += these if tied else 2 * these
    return ways / (2 * math.comb(first + second + others + 2 + left, left))


def _sure(lead: Lead, threshold: float | None, chance: Chance) -> bool:
    return (
        threshold is not None
        and lead.first > lead.second
        and lead.ahead > 0
        and chance(lead) >= threshold
    )
