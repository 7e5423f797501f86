"""When to do something else than what is best as far as is known, and how likely that was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from router_service.contract import RouteQuery
from router_service.learning.purse import Allowance
from router_service.learning.settings import ExplorationSettings
from router_service.scores import Score, Scores

_PART: Final = 0.25  # of what there is for a day: the most that goes into one request
_SURE: Final = 4.0  # times what a try is expected to cost: what there must be, lest it cost more


@dataclass(frozen=True, slots=True)
class Terms:
    """Out of what, and by what settings, something is tried.

    ``dice`` is a number from 0 to below 1, drawn evenly.
    """

    allowance: Allowance
    settings: ExplorationSettings
    dice: float


class Drawn(NamedTuple):
    """The arm to take, how likely just this was, and whether it was taken to learn.

    ``extra_usd`` is what it is expected to cost above what else had been done, and
    ``expected_usd`` what that had cost.
    """

    arm: str
    propensity: float
    explored: bool
    extra_usd: float = 0.0
    expected_usd: float = 0.0


def explored(scores: Scores, greedy: str, query: RouteQuery, terms: Terms) -> Drawn:
    """Return what to do where *greedy* is best: that, or with a small chance another arm.

    Any arm of which it cannot be ruled out that it is better has the same chance.
    """
    arms = eligible(scores, greedy, query, terms)
    rate = terms.settings.rate if arms else 0.0
    expected = _usd(scores.arms[greedy], query) or 0.0
    if terms.dice >= rate:
        return Drawn(greedy, 1 - rate, explored=False, expected_usd=expected)
    arm = sorted(arms)[min(int(terms.dice / rate * len(arms)), len(arms) - 1)]
    return Drawn(arm, rate / len(arms), explored=True, extra_usd=arms[arm], expected_usd=expected)


def eligible(scores: Scores, greedy: str, query: RouteQuery, terms: Terms) -> Mapping[str, float]:
    """Return the arms that are worth a try now, with what each costs above *greedy*, in dollars.

    Until there is enough for the dearest of them it is the cheaper half, and until there is
    enough for that only those that cost nothing more. The dear ones come when there is more, or
    when cheaper ones are known to be no better.
    """
    if not query.explore or terms.settings.rate <= 0:
        return {}
    best = scores.arms[greedy]
    may_be_better = {
        arm: extra
        for arm, score in scores.arms.items()
        if arm != greedy
        and score.optimistic > best.utility
        and (extra := _extra(score, best, query)) is not None
    }
    most = min(terms.settings.max_usd, _PART * terms.allowance.total_usd)
    within = {arm: extra for arm, extra in may_be_better.items() if extra <= most}
    left = terms.allowance.left_usd / _SURE
    for arms in (within, _cheaper_half(within)):
        if max(arms.values(), default=0.0) <= left:
            return arms
    return {arm: extra for arm, extra in within.items() if not extra}


def _cheaper_half(arms: Mapping[str, float]) -> Mapping[str, float]:
    ranked = sorted(arms, key=lambda arm: (arms[arm], arm))
    return {arm: arms[arm] for arm in ranked[: (len(ranked) + 1) // 2]}


def _extra(score: Score, best: Score, query: RouteQuery) -> float | None:
    """Return what the arm costs above the best, in dollars; None where that is not known."""
    if score.cost <= best.cost:
        return 0.0
    if query.plain_usd is None:
        return None
    return (score.cost - best.cost) * query.plain_usd


def _usd(score: Score, query: RouteQuery) -> float | None:
    return None if query.plain_usd is None else score.cost * query.plain_usd
