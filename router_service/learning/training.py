"""Trains the weights of ``acm_linear``, and tells what they would have been worth.

Every figure is out of fold: of requests about things that the weights had not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from router_service.arms import PLAIN
from router_service.contract import Observation
from router_service.estimating.partition import Codes, Numbers
from router_service.learning.lessons import ORDER, Lessons, Order, lessons
from router_service.learning.weights import likely, logit, ridge
from techniques.parts.linear import Artifact, FeatureSpec, checksum

Target: TypeAlias = Literal["ridge", "logit"]
ALPHAS: Final = tuple(10.0**power for power in range(-3, 4))
_BASELINE: Final = "baseline"
_FEWEST: Final = 30


class NotWorthIt(Exception):
    """The weights are not kept: the message says why."""


@dataclass(frozen=True, slots=True)
class Trained:
    """The weights, and what they did on requests that they had not seen.

    Utilities are in points a request above the plain call. ``margin`` is that above the best
    ``fixed`` arm and ``error`` its standard error, by towns. ``regret`` is what the best arm of
    each request had added, None where no request tells. ``slope`` is 1 where gains come as
    predicted.
    """

    artifact: Artifact
    utility: float
    fixed: str
    fixed_utility: float
    margin: float
    error: float
    regret: float | None
    slope: float | None
    requests: int


def train(
    rows: Iterable[Observation],
    *,
    target: Target = "ridge",
    lambda_: float = 1.0,
    created: str = "",
) -> Trained:
    """Return the weights that *rows* teach for that *lambda_*.

    Raises:
        NotWorthIt: There is too little to learn from, or they do not beat the best fixed arm by
            one standard error.
    """
    trained = weighed(rows, target=target, lambda_=lambda_, created=created)
    if (why := doubt(trained)) is not None:
        raise NotWorthIt(why)
    return trained


def doubt(trained: Trained) -> str | None:
    """Return why *trained* is not worth keeping, None if it is."""
    if trained.margin > trained.error:
        return None
    return (
        f"{trained.utility:+.2f} points a request is no more than one standard error "
        f"({trained.error:.2f}) above {trained.fixed} alone ({trained.fixed_utility:+.2f})"
    )


def weighed(
    rows: Iterable[Observation],
    *,
    target: Target = "ridge",
    lambda_: float = 1.0,
    created: str = "",
) -> Trained:
    """Return the weights that *rows* teach, be they worth keeping or not.

    Raises:
        NotWorthIt: There is too little to learn from.
    """
    known = lessons(rows)
    if target == "logit":
        known = known.taken(np.flatnonzero(~np.isnan(known.gain).any(axis=1)))
    if len(known.gain) < _FEWEST:
        raise NotWorthIt(f"{len(known.gain)} requests tell enough, and {_FEWEST} are needed")
    lesson = _Lesson(known, lambda_)
    outcomes = {alpha: lesson.outcome(target, alpha) for alpha in ALPHAS}
    alpha = max(ALPHAS, key=lambda each: (float(outcomes[each].value.mean()), each))
    return lesson.judged(outcomes[alpha], _artifact(lesson, target, alpha, created))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What was expected of each arm, and what came of choosing by it; a request a row."""

    expected: Numbers
    chosen: Order
    value: Numbers


class _Lesson:
    """What is to be learnt, at one price of a plain call."""

    def __init__(self, known: Lessons, lambda_: float) -> None:
        self.known = known
        self.lambda_ = lambda_
        self.costs = _costs(known)
        self._price = lambda_ * (self.costs - 1)
        self.utility = 100 * known.gain - self._price

    def outcome(self, target: Target, alpha: float) -> _Outcome:
        """Return what weights of *alpha* do out of fold."""
        known = self.known
        gains = np.zeros_like(known.gain)
        scores = np.zeros((len(known.gain), len(known.arms) + 1))
        for fold in known.folds():
            others = np.setdiff1d(np.arange(len(known.gain)), fold)
            weights = ridges(known.taken(others), alpha)
            gains[fold] = known.features[fold] @ weights
            if target == "logit":
                scores[fold] = likely(known.features[fold], self.logits(others, alpha))
        expected = 100 * gains - self._price
        if target == "ridge":
            scores[:, 1:] = expected
        chosen = scores.argmax(axis=1) - 1
        return _Outcome(expected, chosen, self.worth(expected, chosen))

    def logits(self, rows: Order, alpha: float) -> Numbers:
        """Return the weights by which the best arm of *rows* is likeliest, the plain call first.

        A request counts for as much as there is to lose by any other arm.
        """
        worth = np.column_stack([np.zeros(len(rows)), self.utility[rows]])
        hit = np.eye(worth.shape[1])[worth.argmax(axis=1)]
        regret = worth.max(axis=1) - worth.mean(axis=1)
        return logit(self.known.features[rows], hit, regret / max(regret.mean(), 1e-12), alpha)

    def worth(self, expected: Numbers, chosen: Order) -> Numbers:
        """Return what *chosen* (-1: the plain call) came to: doubly robust, as not all is known.

        Source: Dudik, Langford and Li 2011.
        """
        rows, arms = np.arange(len(chosen)), np.maximum(chosen, 0)
        guess, seen = expected[rows, arms], self.utility[rows, arms]
        weight = np.where(np.isnan(seen), 0.0, self.known.weight[rows, arms])
        return np.where(chosen < 0, 0.0, guess + weight * (np.nan_to_num(seen) - guess))

    def judged(self, outcome: _Outcome, artifact: Artifact) -> Trained:
        """Return *artifact* with what it would have done beside the best fixed arm."""
        count, arms = len(outcome.chosen), len(self.known.arms)
        fixed = [
            self.worth(outcome.expected, np.full(count, arm, np.intp)) for arm in range(-1, arms)
        ]
        best = max(range(arms + 1), key=lambda arm: float(fixed[arm].mean()))
        apart = outcome.value - fixed[best]
        utility = float(outcome.value.mean())
        return Trained(
            artifact.model_copy(update={"cv_mean_q": utility}),
            utility,
            (PLAIN.name, *self.known.arms)[best],
            float(fixed[best].mean()),
            float(apart.mean()),
            _error(apart, self.known.town),
            self._regret(outcome.chosen),
            self._slope(outcome.expected),
            count,
        )

    def _regret(self, chosen: Order) -> float | None:
        whole = np.flatnonzero(~np.isnan(self.utility).any(axis=1))
        if not len(whole):
            return None
        worth = np.column_stack([np.zeros(len(whole)), self.utility[whole]])
        taken = worth[np.arange(len(whole)), chosen[whole] + 1]
        return float((worth.max(axis=1) - taken).mean())

    def _slope(self, expected: Numbers) -> float | None:
        gains = (expected + self._price) / 100
        there = ~np.isnan(self.known.gain)
        square = float((gains[there] ** 2).sum())
        return float((gains[there] * self.known.gain[there]).sum()) / square if square else None


def ridges(known: Lessons, alpha: float) -> Numbers:
    """Return the weights for the gain of each arm, a column each."""
    columns = [
        ridge(known.features, gain, weight, alpha)
        for gain, weight in zip(known.gain.T, known.weight.T, strict=True)
    ]
    return np.column_stack(columns)


def told(artifact: Artifact, most: int = 5) -> Sequence[str]:
    """Return lines for people: the features that say the most for and against each arm."""
    lines = [f"{artifact.target}, alpha {artifact.alpha}, out of fold {artifact.cv_mean_q} points"]
    for place, name in enumerate(artifact.technique_classes):
        pairs = zip(artifact.feature_spec.feature_order, artifact.weights, strict=True)
        each = sorted(((row[place], of) for of, row in pairs), key=lambda pair: -abs(pair[0]))
        lines.append(f"{name}: " + ", ".join(f"{of} {value:+.3f}" for value, of in each[:most]))
    return lines


def _costs(known: Lessons) -> Numbers:
    """Return what each arm costs on average, in plain calls; 1 where nobody knows."""
    there = ~np.isnan(known.cost)
    sums = np.where(there, known.weight * np.nan_to_num(known.cost), 0.0).sum(axis=0)
    counts = np.where(there, known.weight, 0.0).sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1e-12), 1.0)


def _error(apart: Numbers, town: Codes) -> float:
    """Return the standard error of the mean of what lies in *town* together."""
    _, place = np.unique(town, return_inverse=True)
    sums = np.bincount(place, apart - apart.mean())
    return float(np.sqrt((sums**2).sum())) / len(apart)


def _artifact(lesson: _Lesson, target: Target, alpha: float, created: str) -> Artifact:
    known = lesson.known
    if target == "ridge":
        weights = np.column_stack([np.zeros(len(ORDER)), ridges(known, alpha)])
    else:
        weights = lesson.logits(np.arange(len(known.gain)), alpha)
    made = Artifact(
        feature_spec=FeatureSpec(feature_order=ORDER, has_difficulty=False),
        technique_classes=(_BASELINE, *known.arms),
        weights=tuple(tuple(map(float, row)) for row in weights),
        target=target,
        costs=(1.0, *map(float, lesson.costs)),
        alpha=alpha,
        lambda_trained=lesson.lambda_,
        trained_on={"requests": len(known.gain)},
        created=created or None,
    )
    return made.model_copy(update={"checksum": checksum(made)})
