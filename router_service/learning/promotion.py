"""Whether what was learnt anew may be served: tried on requests that it has not learnt of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, TypeAlias

import numpy as np

from router_service import picking
from router_service.arms import PLAIN
from router_service.contract import NoExactProfile, Observation, Offer, RouteQuery
from router_service.learning.off_policy import (
    Comparison,
    Logged,
    certain,
    compared,
    means,
    promoted,
)
from router_service.scores import Score, Scorer

_FOLDS: Final = 5
_MOST: Final = 2_000
_LEAST: Final = 60
_DIGITS: Final = 2  # of a vector: prompts that differ less are one and the same

Fit: TypeAlias = Callable[[Sequence[Observation]], Scorer]
"""Learns rows, and nothing else, and returns what decides by them."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Whether the candidate may be served, ``why``, and what the two would have been worth.

    ``fixed`` is the arm that is best if it is always taken, and what that is worth. ``slope`` is 1
    where the utilities of arms come as the candidate has foretold.
    """

    promoted: bool
    why: str
    rows: int
    comparison: Comparison | None = None
    fixed: tuple[str, float] | None = None
    slope: float | None = None


def fit_and_check(
    rows: Sequence[Observation], current: Fit, candidate: Fit, lambda_: float = 1.0
) -> Promotion:
    """Return whether what *candidate* makes of *rows* may take the place of what *current* does.

    Both learn four fifths of the requests and are tried on the rest, five times: on what was done
    there, and how likely that was. The same prompt is never on both sides. It takes its time: call
    it in another thread, and not in a request's way.
    """
    tried = [row for row in rows if _tells(row)][-_MOST:]
    if len(tried) < _LEAST:
        why = f"{len(tried)} requests are known in full; {_LEAST} are needed"
        return Promotion(promoted=False, why=why, rows=len(tried))
    arms = _arms(rows)
    fold = {row.id: _fold(row) for row in rows}
    policies = _Policies(len(tried), len(arms))
    for held_out in range(_FOLDS):
        known = [row for row in rows if fold[row.id] != held_out]
        here = [place for place, row in enumerate(tried) if fold[row.id] == held_out]
        if here:
            scorers = current(known), candidate(known)
            for place in here:
                policies.decide(place, scorers, _query(tried[place], arms, lambda_))
    logged = _logged(tried, arms, policies.expected, lambda_)
    dice = np.random.default_rng(len(tried))
    found = compared(
        logged,
        certain(policies.chosen[0], len(arms)),
        certain(policies.chosen[1], len(arms)),
        dice,
    )
    taken = promoted(found)
    return Promotion(
        promoted=taken,
        why=_why(found, taken=taken),
        rows=len(tried),
        comparison=found,
        fixed=_fixed(logged, tuple(arms)),
        slope=_slope(logged, policies.foretold),
    )


class _Policies:
    """What the two would have done, and what is expected of each arm by both together."""

    def __init__(self, rows: int, arms: int) -> None:
        self.chosen = [[0] * rows, [0] * rows]
        self.expected = np.zeros((rows, arms))
        self.foretold = np.zeros((rows, arms))  # by the candidate alone

    def decide(self, place: int, scorers: tuple[Scorer, Scorer], query: RouteQuery) -> None:
        """Write down what both do at *place*."""
        names = [offer.arm for offer in query.offers]
        for which, scorer in enumerate(scorers):
            try:
                scores = scorer(query)
            except NoExactProfile:
                continue
            if scores.arms:
                self.chosen[which][place] = names.index(picking.best(scores))
            for arm, score in scores.arms.items():
                self.expected[place, names.index(arm)] += _expected(score) / len(scorers)
                if which:
                    self.foretold[place, names.index(arm)] = _expected(score)


def _tells(row: Observation) -> bool:
    """Tell whether *row* was carried out, and all is known of it that is needed."""
    known = row.quality is not None and row.plain_quality is not None
    return known and not row.counterfactual and (row.cost is not None or row.arm == PLAIN.name)


def _arms(rows: Sequence[Observation]) -> Mapping[str, int]:
    """Return the columns of all arms; the plain call's is the first, and taken where in doubt."""
    seen = sorted({row.arm for row in rows} - {PLAIN.name})
    return {arm: place for place, arm in enumerate((PLAIN.name, *seen))}


def _query(row: Observation, arms: Mapping[str, int], lambda_: float) -> RouteQuery:
    return RouteQuery(
        model=row.model,
        offers=tuple(Offer(arm=arm) for arm in arms),
        features=row.features,
        vector=row.vector,
        pool=row.pool,
        lambda_=lambda_,
        explore=False,
    )


def _logged(
    tried: Sequence[Observation], arms: Mapping[str, int], expected: np.ndarray, lambda_: float
) -> Logged:
    return Logged(
        np.array([arms[row.arm] for row in tried]),
        np.array([row.propensity for row in tried]),
        np.array([_utility(row, lambda_) for row in tried]),
        expected,
        np.array([_cluster(row) for row in tried]),
    )


def _utility(row: Observation, lambda_: float) -> float:
    assert row.quality is not None
    assert row.plain_quality is not None
    cost = 1.0 if row.cost is None else row.cost
    return 100 * (row.quality - row.plain_quality) - lambda_ * (cost - 1)


def _cluster(row: Observation) -> str:
    """Return what rows about the same prompt have in common."""
    if row.vector is None:
        return row.request_id
    place = ",".join(str(round(value, _DIGITS)) for value in row.vector.values)
    return blake2b(f"{row.vector.encoder} {place}".encode(), digest_size=8).hexdigest()


def half(row: Observation) -> bool:
    """Tell to which half of all prompts *row* belongs; the folds are others."""
    return blake2b(_cluster(row).encode(), digest_size=2).digest()[1] % 2 == 0


def _fold(row: Observation) -> int:
    return blake2b(_cluster(row).encode(), digest_size=2).digest()[0] % _FOLDS


def _expected(score: Score) -> float:
    return score.utility if score.expected is None else score.expected


def _fixed(logged: Logged, arms: Sequence[str]) -> tuple[str, float]:
    worth = means(logged)
    best = int(worth.argmax())
    return arms[best], float(worth[best])


def _slope(logged: Logged, foretold: np.ndarray) -> float | None:
    """Return how much of what was foretold of the arms that were tried came of them."""
    said = foretold[np.arange(len(logged.chosen)), logged.chosen]
    there = (logged.chosen > 0) & (said != 0)
    square = float((said[there] ** 2).sum())
    return float((said[there] * logged.utility[there]).sum()) / square if square else None


def _why(found: Comparison, *, taken: bool) -> str:
    gain = found.gain
    told = f"{gain.mean:+.2f} points, 95 % interval {gain.low:+.2f} to {gain.high:+.2f}"
    if taken:
        return f"no worse: {told}"
    if gain.low >= 0:
        return f"hardly ever done: {found.candidate.rows:.0f} requests tell of it; {told}"
    return f"may be worse: {told}"
