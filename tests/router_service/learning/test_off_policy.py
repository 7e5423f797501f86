from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pytest

from router_service.learning.off_policy import (
    MOST_WEIGHT,
    Comparison,
    Logged,
    certain,
    compared,
    promoted,
)

ARMS = 4
GAINS = np.array([0.0, 1.5, -1.0, 3.0])


@dataclass
class World:
    """Requests of two kinds, on which arms differ, and what each arm is worth for each."""

    logged: Logged
    truth: np.ndarray
    kind: np.ndarray

    def compare(self, current: np.ndarray, candidate: np.ndarray) -> Comparison:
        return compared(self.logged, current, candidate, np.random.default_rng(9))

    def worth(self, policy: np.ndarray) -> float:
        return float((policy * self.truth).sum(axis=1).mean())

    @property
    def best(self) -> np.ndarray:
        return certain(list(np.where(self.kind == 0, 3, 2)), ARMS)

    @property
    def worst(self) -> np.ndarray:
        return certain(list(np.where(self.kind == 0, 2, 3)), ARMS)


def world(seed: int, rows: int = 400, *, error: float = 0.0, each: int = 1) -> World:
    """A world that a policy logged which explores; *each* rows are about the same request.

    The model is off by *error* points, in another direction for each arm.
    """
    random = np.random.default_rng(seed)
    kind = np.repeat(random.integers(0, 2, rows // each), each)
    shared = np.repeat(random.normal(0, 2, rows // each), each)
    truth = np.where(kind[:, None] == 0, GAINS, -GAINS) + 2.0
    chances = np.array([0.7, 0.1, 0.1, 0.1])
    chosen = random.choice(ARMS, size=rows, p=chances)
    utility = truth[np.arange(rows), chosen] + shared + random.normal(0, 1, rows)
    expected = truth + error * np.array([1.0, -1.0, 1.0, -2.0])
    cluster = np.repeat(np.arange(rows // each), each)
    return World(Logged(chosen, chances[chosen], utility, expected, cluster), truth, kind)


def always(arm: int, rows: int = 400) -> np.ndarray:
    return certain([arm] * rows, ARMS)


@pytest.mark.parametrize("error", [0.0, 2.0])
def test_the_value_of_a_policy_is_told_without_bias_even_by_a_wrong_model(error: float) -> None:
    robust, normalised, truth = [], [], []
    for seed in range(60):
        scene = world(seed, error=error)
        found = scene.compare(always(0), scene.best)
        robust.append(found.gain.mean)
        normalised.append(found.gain_snips.mean)
        truth.append(scene.worth(scene.best) - scene.worth(always(0)))
    deviation = np.std(np.subtract(robust, truth)) / 60**0.5

    assert abs(fmean(robust) - fmean(truth)) < 3 * deviation + 0.05
    assert abs(fmean(normalised) - fmean(truth)) < 3 * deviation + 0.2


@pytest.mark.parametrize("each", [1, 4])
def test_the_interval_covers_the_truth_as_often_as_it_says(each: int) -> None:
    """Rows of one request share what is special about it: four of them are less than four."""
    covered = []
    for seed in range(100):
        scene = world(seed, error=1.0, each=each)
        value = scene.compare(always(0), scene.best).candidate
        covered.append(value.low <= scene.worth(scene.best) <= value.high)

    assert fmean(covered) >= 0.9


def test_rows_taken_for_independent_would_promise_too_much() -> None:
    scene = world(1, each=4)
    apart = Logged(
        scene.logged.chosen,
        scene.logged.propensity,
        scene.logged.utility,
        scene.logged.expected,
        np.arange(400),
    )
    honest = scene.compare(always(0), always(0)).candidate
    naive = compared(apart, always(0), always(0), np.random.default_rng(9)).candidate

    assert naive.high - naive.low < 0.8 * (honest.high - honest.low)


def test_what_is_better_is_promoted_and_what_is_worse_is_not() -> None:
    better = [world(seed).compare(always(0), world(seed).best) for seed in range(20)]
    worse = [world(seed).compare(always(0), world(seed).worst) for seed in range(20)]

    assert all(map(promoted, better))
    assert not any(map(promoted, worse))


def test_what_is_as_good_is_seldom_promoted_by_chance() -> None:
    """Two arms that are worth the same: only luck tells them apart."""
    lucky = []
    for seed in range(100):
        scene = world(seed)
        scene.truth[:] = 0
        random = np.random.default_rng(seed)
        logged = Logged(
            scene.logged.chosen,
            scene.logged.propensity,
            random.normal(0, 3, 400),
            np.zeros((400, ARMS)),
            scene.logged.cluster,
        )
        lucky.append(promoted(compared(logged, always(1), always(2), random)))

    assert fmean(lucky) < 0.06


def test_the_same_parameters_change_nothing_and_may_be_served() -> None:
    found = world(1).compare(always(0), always(0))

    assert found.gain.mean == found.gain.low == found.gain.high == 0
    assert promoted(found)


def test_nothing_is_promoted_on_what_was_hardly_ever_done() -> None:
    scene = world(1, rows=100)
    found = scene.compare(always(0, 100), always(3, 100))

    assert found.candidate.rows < 30
    assert not promoted(found)


def test_what_was_very_unlikely_does_not_count_for_everything() -> None:
    logged = Logged(
        np.array([0, 1]),
        np.array([0.999, 0.001]),
        np.array([0.0, 100.0]),
        np.zeros((2, 2)),
        np.arange(2),
    )
    found = compared(logged, certain([0, 0], 2), certain([1, 1], 2), np.random.default_rng(1))

    assert found.candidate.mean == MOST_WEIGHT * 100 / 2


def test_the_same_dice_tell_the_same() -> None:
    scene = world(3)

    assert scene.compare(always(0), scene.best) == scene.compare(always(0), scene.best)
