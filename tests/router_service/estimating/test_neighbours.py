from __future__ import annotations

import numpy as np
import pytest

from router_service.estimating.neighbours import (
    Neighbourhood,
    effective,
    mean,
    neighbourhood,
    summed,
)
from router_service.estimating.partition import Matrix, joined

_ARMS = 6


def _towns(count: int, width: int, seed: int = 5) -> Matrix:
    """Return unit vectors about a hundred places."""
    random = np.random.default_rng(seed)
    fall = (1 + np.arange(width)) ** -0.35
    towns = random.standard_normal((100, width)) * fall
    found = towns[random.integers(0, 100, count)] + random.standard_normal((count, width)) * fall
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found, np.float32)


def _around(vectors: Matrix, *, pieces: int = 1) -> Neighbourhood:
    partition = None
    for part in np.array_split(np.arange(len(vectors)), pieces):
        partition = joined(partition, {int(place): vectors[place] for place in part})
    assert partition is not None
    arms = np.random.default_rng(1).integers(0, _ARMS, len(vectors)).astype(np.int32)
    return neighbourhood(partition, np.arange(len(vectors), dtype=np.int32), arms, _ARMS)


def _recall(found: Neighbourhood, prompts: Matrix, most: int = 40) -> float:
    shares = []
    for values in prompts:
        near = found.around(values, most)
        assert near is not None
        for arm, rows in enumerate(found.rows):
            if not len(rows):
                continue
            exact = found.partition.vectors[found.places[arm]] @ values
            best = rows[np.argsort(-exact)[:most]]
            shares.append(np.isin(best, near.rows[arm]).mean())
    return float(np.mean(shares))


@pytest.mark.parametrize("width", [256, 384])
@pytest.mark.parametrize("pieces", [1, 20])
def test_the_short_form_finds_nearly_all_of_the_nearest(width: int, pieces: int) -> None:
    vectors = _towns(6_015, width)
    found = _around(vectors[:6_000], pieces=pieces)

    assert found.partition.is_large
    assert found.partition.brief.shape == (6_000, 64)
    assert _recall(found, vectors[6_000:]) >= 0.97


@pytest.mark.parametrize("count", [1, 30, 3_000])
def test_among_few_vectors_just_the_nearest_are_found(count: int) -> None:
    vectors = _towns(count + 20, 256)
    found = _around(vectors[:count])

    assert not found.partition.is_large
    assert _recall(found, vectors[count:]) == 1.0


def test_a_short_form_that_grew_finds_as_well_as_one_that_was_made_at_once() -> None:
    vectors = _towns(6_015, 256)
    grown, whole = _around(vectors[:6_000], pieces=50), _around(vectors[:6_000])

    shares = [_recall(each, vectors[6_000:]) for each in (grown, whole)]

    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    assert grown.partition.made < whole.partition.made


def test_a_prompt_is_like_the_others_in_the_middle_of_them_and_like_none_far_from_them() -> None:
    vectors = _towns(2_000, 64)
    found = _around(vectors)

    same, other = found.around(vectors[3], 40), found.around(-vectors.mean(axis=0), 40)

    assert same is not None
    assert same.gate == 1.0
    assert other is not None
    assert other.gate == 0.0


def test_neighbours_of_nine_prompts_in_ten_count_in_full() -> None:
    vectors = _towns(2_400, 64)
    found = _around(vectors[:2_000])

    gates = [near.gate for each in vectors[2_000:] if (near := found.around(each, 40)) is not None]

    assert np.mean(np.array(gates) == 1.0) > 0.8
    assert np.mean(np.array(gates) == 0.0) < 0.05


def test_a_vector_of_another_length_has_no_neighbours() -> None:
    found = _around(_towns(50, 64))

    assert found.around(np.ones(65, np.float32), 40) is None


def test_how_many_rows_a_mean_is_worth() -> None:
    kernel = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0] * 4, [2.0] * 4])

    rows = effective(kernel, np.ones((4, 4)))
    less = effective(kernel, np.full((4, 4), 0.3))

    assert rows.tolist() == [4.0, 1.0, 0.0, 4.0]
    assert less == pytest.approx([1.2, 0.3, 0.0, 1.2])
    assert mean(kernel, np.ones((4, 4)), np.arange(16.0).reshape(4, 4)).tolist() == [
        1.5,
        4.0,
        0.0,
        13.5,
    ]


def test_several_values_summed_at_once_come_to_what_each_does_by_itself() -> None:
    dice = np.random.default_rng(9)
    kernel = dice.random((_ARMS, 40)) * (dice.random((_ARMS, 40)) < 0.8)
    kernel[2] = 0.0
    weights = dice.random((2, _ARMS, 40))
    weights[1, 3] = 0.0
    values = dice.normal(size=(2, _ARMS, 40))

    rows, means = summed(kernel, weights, values)

    for at in range(2):
        assert rows[at] == pytest.approx(effective(kernel, weights[at]))
        assert means[at] == pytest.approx(mean(kernel, weights[at], values[at]))
    assert (rows[0, 2], means[0, 2], rows[1, 3], means[1, 3]) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("count", [3, 4, 79, 80])
def test_the_kernel_is_as_wide_as_the_median_neighbour_is_apart(count: int) -> None:
    asked, *others = np.ones((count + 1, 64)) + 0.4 * np.random.default_rng(7).normal(
        size=(count + 1, 64)
    )
    vectors = np.array([each / np.linalg.norm(each) for each in others], np.float32)
    asked = (asked / np.linalg.norm(asked)).astype(np.float32)
    found = neighbourhood(
        joined(None, dict(enumerate(vectors))),
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.int32),
        1,
    )

    near = found.around(asked, count)

    assert near is not None
    apart = np.maximum(1 - vectors[near.rows[0]] @ asked, 0)
    width = float(np.median(apart))
    assert 0.03 < width < 0.20
    assert near.kernel[0] == pytest.approx(np.exp(-apart / width), rel=1e-4)
