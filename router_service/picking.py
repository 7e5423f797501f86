"""From what a router thinks of the arms to the one that is taken."""

from __future__ import annotations

from typing import Final

from router_service.contract import RouteDecision, RouteQuery
from router_service.scores import Score, Scores

_TIE: Final = 0.25
_SHORT: Final = 4


def best(scores: Scores) -> str:
    """Return the arm of the greatest utility; of those within a quarter of a point, the cheapest.

    Of equally cheap ones it is the one of greater utility, then the one that was offered first.
    """
    most = max(score.utility for score in scores.arms.values())
    tied = [arm for arm, score in scores.arms.items() if score.utility > most - _TIE]
    if len(tied) == 1:
        return tied[0]
    return min(tied, key=lambda arm: (scores.arms[arm].cost, -scores.arms[arm].utility))


def decision(router: str, query: RouteQuery, scores: Scores) -> RouteDecision:
    """Return the choice of *router*: never a masked arm, unless there is no other."""
    return made(router, scores, best(scores)) if scores.arms else masked(router, query, scores)


def masked(router: str, query: RouteQuery, scores: Scores) -> RouteDecision:
    """Return the choice of *router* where every arm is masked: what happens without one."""
    why = f"{router}: every arm is masked"
    return RouteDecision(arm=query.offers[0].arm, why=why, router=router, masked=scores.masked)


def made(
    router: str, scores: Scores, arm: str, *, propensity: float = 1.0, explored: bool = False
) -> RouteDecision:
    """Return the decision for *arm*, which need not be the best.

    It is made of values that were looked at, each as it came, so nobody looks at them once more.
    """
    score = scores.arms[arm]
    plain = scores.plain_quality
    return RouteDecision.model_construct(
        arm=arm,
        why=_why(scores.why, arm, score, explored=explored),
        router=router,
        params=scores.params.get(arm, {}),
        propensity=propensity,
        explored=explored,
        scores={name: round(each.utility, _SHORT) for name, each in scores.arms.items()},
        confidence=_confidence(scores, arm),
        match=scores.match,
        similarity=scores.similarity,
        profile=scores.profile,
        estimate=scores.estimate,
        masked=scores.masked,
        warnings=scores.warnings,
        predicted_quality=None if plain is None else min(max(plain + score.gain, 0.0), 1.0),
        predicted_cost=score.cost,
    )


def _why(said: str, arm: str, score: Score, *, explored: bool) -> str:
    if explored:
        return f"{said}; {arm} to learn of it"
    if not score.gain:
        return said
    return f"{said}; {arm} {100 * score.gain:+.1f} points for {score.cost:.1f} plain calls"


def _confidence(scores: Scores, arm: str) -> float | None:
    """Return how sure *arm* is the best, None where nothing was said of how sure its score is."""
    if not any(score.spread for score in scores.arms.values()):
        return None
    from router_service.confidence import confidence  # numpy takes long to import

    each = list(scores.arms.values())
    means = [score.utility if score.expected is None else score.expected for score in each]
    return confidence(list(scores.arms).index(arm), means, [100 * score.spread for score in each])
