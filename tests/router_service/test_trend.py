from __future__ import annotations

import numpy as np
import pytest

from router_service.levels import fitted
from router_service.neighbours import neighbourhood, trust_told
from router_service.partition import Matrix, Numbers, joined
from router_service.trend import ridge_told, trend


def _drawn(count: int, width: int, seed: int = 3) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)


def _units(count: int, width: int) -> Matrix:
    found = _drawn(count, width)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)


def test_a_trend_is_found_for_the_arm_that_has_it_and_taken_out_of_what_is_left() -> None:
    numbers = _drawn(400, 5)
    arms = (np.arange(400) % 2).astype(np.int32)
    noise = np.random.default_rng(1).normal(0, 0.1, 400)
    values = np.where(arms == 0, 0.2 * numbers[:, 2], 0.0) + noise

    found, said = trend(values, np.ones(400), arms, numbers)

    one = np.array([0, 0, 1.0, 0, 0])
    assert found.at(0, one) == pytest.approx(0.2, abs=0.02)
    assert found.at(1, one) == pytest.approx(0.0, abs=0.02)
    assert found.at(7, one) == 0.0
    assert (values - said).std() == pytest.approx(0.1, abs=0.01)


def test_a_few_rows_have_no_trend() -> None:
    numbers = _drawn(39, 3)

    found, said = trend(numbers[:, 0].astype(float), np.ones(39), np.zeros(39, np.int32), numbers)

    assert not found.weights
    assert not said.any()


def test_noise_has_no_trend_to_speak_of() -> None:
    numbers = _drawn(300, 80)
    values = np.random.default_rng(8).normal(0, 0.3, 300)

    found, _ = trend(values, np.ones(300), np.zeros(300, np.int32), numbers)

    told = [found.at(0, each) for each in _drawn(50, 80, seed=9).astype(float)]
    assert max(map(abs, told), default=0.0) < 0.1


def test_numbers_that_are_all_the_same_say_nothing() -> None:
    numbers = _drawn(200, 3)
    numbers[:, 0] = 0.0693147
    values = 0.3 * numbers[:, 1].astype(float)

    found, said = trend(values, np.ones(200), np.zeros(200, np.int32), numbers)

    assert found.weights[0][0] == 0.0
    assert np.isfinite(said).all()
    assert found.middle[0] == pytest.approx(0.0693147, abs=1e-6)
    assert found.at(0, np.array([1.0, 0.0, 0.0])) == 0.0


def test_a_ridge_that_foretells_nothing_is_none() -> None:
    lie = np.zeros((50, 3))

    assert ridge_told(lie, np.ones(50), np.ones(50)) is None


def _trust(values: Numbers, vectors: Matrix) -> float:
    partition = joined(None, dict(enumerate(vectors)))
    count = len(vectors)
    there = neighbourhood(partition, np.arange(count, dtype=np.int32), np.zeros(count, np.int32), 1)
    return trust_told(there, values, np.ones(count), most=40, kappa=8.0)


def test_neighbours_are_trusted_where_what_they_say_comes_true() -> None:
    vectors = _units(1_000, 4)
    noise = np.random.default_rng(5).normal(0, 0.1, 1_000)

    assert _trust(np.sign(vectors[:, 0]) * 0.3 + noise, vectors) > 0.9
    assert _trust(3 * noise, vectors) < 0.3


def test_neighbours_are_trusted_until_there_is_reason_not_to() -> None:
    vectors = _units(20, 4)
    noise = np.random.default_rng(5).normal(0, 0.1, 20)

    assert _trust(noise, vectors) > 0.6
    assert _trust(np.zeros(20), vectors) == 1.0
    assert _trust(np.zeros(1), vectors[:1]) == 1.0


@pytest.mark.parametrize("apart", [0.0, 0.4])
def test_a_group_is_shrunk_between_what_it_shows_and_the_mean_of_all(apart: float) -> None:
    random = np.random.default_rng(2)
    groups = np.column_stack([np.zeros(600), np.zeros(600), np.arange(600) % 6, np.zeros(600)])
    values = np.where(groups[:, 2] == 1, apart, 0.0) + random.normal(0.1, 0.2, 600)

    levels, left = fitted(values, np.ones(600), np.zeros(600, np.int32), groups.astype(np.int32))

    shown = values[groups[:, 2] == 1].mean()
    mean = levels.at(0, (0, 0, -1, 0))
    group = levels.at(0, (0, 0, 1, 0))
    assert min(mean, shown) - 0.01 <= group <= max(mean, shown) + 0.01
    assert group - mean == pytest.approx(apart * 5 / 6, abs=0.06)
    assert left.std() <= values.std()
