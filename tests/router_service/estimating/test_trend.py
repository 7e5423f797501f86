from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.estimating.levels import ARM_KAPPA, fitted, moved
from router_service.estimating.neighbours import foretold, neighbourhood
from router_service.estimating.partition import Matrix, Numbers, joined
from router_service.estimating.trend import ridge_told, trend
from router_service.estimating.trust import Trust, trust


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

    found, told = trend(values, np.ones(400), arms, numbers)

    one = np.array([0, 0, 1.0, 0, 0])
    assert found.at(0, one) == pytest.approx(0.2, abs=0.02)
    assert found.at(1, one) == pytest.approx(0.0, abs=0.02)
    assert found.at(7, one) == 0.0
    assert (values - told).std() == pytest.approx(0.1, abs=0.01)


def test_a_few_rows_have_no_trend() -> None:
    numbers = _drawn(39, 3)

    found, told = trend(numbers[:, 0].astype(float), np.ones(39), np.zeros(39, np.int32), numbers)

    assert not found.weights
    assert not told.any()


def test_noise_has_no_trend_to_speak_of() -> None:
    numbers = _drawn(300, 80)
    values = np.random.default_rng(8).normal(0, 0.3, 300)

    found, _ = trend(values, np.ones(300), np.zeros(300, np.int32), numbers)

    each = [found.at(0, apart) for apart in _drawn(50, 80, seed=9).astype(float)]
    assert max(map(abs, each), default=0.0) < 0.1


def test_numbers_that_are_all_the_same_say_nothing() -> None:
    numbers = _drawn(200, 3)
    numbers[:, 0] = 0.0693147
    values = 0.3 * numbers[:, 1].astype(float)

    found, told = trend(values, np.ones(200), np.zeros(200, np.int32), numbers)

    assert found.weights[0][0] == 0.0
    assert np.isfinite(told).all()
    assert found.middle[0] == pytest.approx(0.0693147, abs=1e-6)
    assert found.at(0, np.array([1.0, 0.0, 0.0])) == 0.0


def test_a_long_vector_does_not_drown_what_is_counted() -> None:
    numbers = _drawn(150, 513)
    values = 0.3 * numbers[:, 0] + np.random.default_rng(2).normal(0, 0.3, 150)
    rows = (values, np.ones(150), np.zeros(150, np.int32), numbers)

    drowned, _ = trend(*rows)
    found, _ = trend(*rows, alone=1)

    one = np.eye(1, 513)[0]
    assert found.at(0, one) > 1.5 * drowned.at(0, one) > 0


@pytest.mark.parametrize("width", [512, 1536])
def test_a_long_vector_is_placed_by_its_short_form(width: int) -> None:
    vectors = _units(100, width)
    whole = joined(None, dict(enumerate(vectors)))

    assert whole.coordinates.shape == (100, 512 if width == 512 else 64)
    assert whole.placed(vectors[3]) == pytest.approx(whole.coordinates[3], abs=1e-5)


def test_a_ridge_that_foretells_nothing_is_none() -> None:
    lie = np.zeros((50, 3), np.float32)

    assert ridge_told(lie, np.ones(50), np.ones(50)) is None


def test_a_trend_that_chance_would_show_is_none() -> None:
    random = np.random.default_rng(4)

    found = [
        ridge_told(
            random.standard_normal((60, 20), np.float32), random.standard_normal(60), np.ones(60)
        )
        for _ in range(20)
    ]

    assert sum(each is not None for each in found) <= 6


def _foretold(values: Numbers, vectors: Matrix) -> tuple[Numbers, Numbers]:
    """Return what neighbours foretell of each row, and the truth of those."""
    count = len(vectors)
    there = neighbourhood(
        joined(None, dict(enumerate(vectors))),
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.int32),
        2,
    )
    even, arms = np.ones(count), np.zeros(count, np.int32)
    own = moved(values, even, arms)
    rows, told = foretold(there, values, even, own=own, most=40, kappa=8.0)
    return told, (values + own)[rows]


def test_neighbours_are_trusted_where_what_they_say_comes_true() -> None:
    vectors = _units(1_000, 4)
    noise = np.random.default_rng(5).normal(0, 0.1, 1_000)
    nothing, even = np.zeros(1_000), np.ones(1_000)

    told, truth = _foretold(np.sign(vectors[:, 0]) * 0.3 + noise, vectors)
    chance, drawn = _foretold(noise, vectors)

    assert trust(nothing, told, truth, even).near > 0.9
    assert trust(nothing, chance, drawn, even).near < 0.3


@given(st.integers(2, 30), st.floats(-1, 1), st.floats(0.1, 1))
def test_what_a_row_moved_is_what_the_mean_of_the_others_lacks(
    count: int, first: float, weight: float
) -> None:
    values, arms = np.linspace(first, 0.5, count), np.zeros(count, np.int32)
    weights = np.linspace(weight, 1.0, count)
    _, left = fitted(values, weights, arms, np.zeros((count, 0), np.int32))
    others = [
        (weights @ values - here * value) / (weights.sum() - here + ARM_KAPPA)
        for value, here in zip(values, weights, strict=True)
    ]

    assert left + moved(left, weights, arms) == pytest.approx(values - np.array(others))


@pytest.mark.parametrize("count", [4, 12, 60])
def test_few_rows_do_not_tell_against_their_neighbours(count: int) -> None:
    values = np.full(count, 0.3)
    _, left = fitted(values, values / 0.3, np.zeros(count, np.int32), np.zeros((count, 0), int))

    same, truth = _foretold(left, _units(count, 4))

    assert ((same > 0) & (same < truth)).all()


@pytest.mark.parametrize("count", [1, 20])
def test_neighbours_are_trusted_until_there_is_reason_not_to(count: int) -> None:
    told, truth = _foretold(np.zeros(count), _units(count, 4))

    assert trust(np.zeros(count), told, truth, np.ones(count)) == Trust(0.0, 1.0)
    none = np.zeros(0)
    assert trust(none, none, none, none) == Trust(0.0, 1.0)


def test_the_one_that_foretells_better_is_believed() -> None:
    random = np.random.default_rng(6)
    truth, even = random.normal(0, 0.2, 2_000), np.ones(2_000)
    good, bad = truth / 2 + random.normal(0, 0.1, 2_000), random.normal(0, 0.1, 2_000)

    assert trust(good, bad, truth, even).trend > 0.7
    assert trust(good, bad, truth, even).near < 0.1
    assert trust(bad, good, truth, even).near > 0.7
    assert trust(bad, good, truth, even).trend < 0.1


@given(st.integers(1, 200), st.integers(0, 1000), st.floats(0.01, 10))
def test_parts_are_always_from_none_to_all(count: int, seed: int, size: float) -> None:
    drawn = size * np.random.default_rng(seed).standard_normal((3, count))

    found = trust(drawn[0], drawn[1], drawn[2], np.ones(count))

    assert 0 <= found.trend <= 1
    assert 0 < found.near <= 1


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
