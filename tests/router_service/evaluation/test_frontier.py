from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from router_service.evaluation.statistics.distributions import Numbers
from router_service.evaluation.statistics.frontier import chances, frontier
from router_service.evaluation.statistics.resampling import clustered

ABSOLUTE = np.array([False, True])
COSTS = arrays.arrays(
    np.float64,
    st.tuples(st.just(1), st.integers(1, 6), st.just(2)),
    elements=st.floats(0, 3, width=32),
)


def _on(*points: tuple[float, float]) -> list[bool]:
    """Return which of *points*, quality and cost, are on the frontier."""
    costs = np.array([[[-quality, cost] for quality, cost in points]])
    return list(map(bool, frontier(costs, ABSOLUTE)[0]))


def test_who_is_beaten_everywhere_is_not_on_it() -> None:
    assert _on((0.9, 5), (0.7, 1), (0.6, 2)) == [True, True, False]


def test_a_hair_is_no_difference() -> None:
    assert _on((0.900, 1.0), (0.904, 1.0)) == [True, True]
    assert _on((0.900, 1.0), (0.906, 1.0)) == [False, True]
    assert _on((0.9, 1.000), (0.9, 1.004)) == [True, True]
    assert _on((0.9, 1.000), (0.9, 1.006)) == [True, False]


def test_what_is_dearer_by_a_hair_and_much_better_wins() -> None:
    assert _on((0.5, 1.0), (0.9, 1.004)) == [False, True]


@given(COSTS)
def test_somebody_is_always_on_it(costs: Numbers) -> None:
    assert frontier(costs, ABSOLUTE).any()


@given(COSTS)
def test_who_is_best_in_something_by_more_than_a_hair_is_on_it(costs: Numbers) -> None:
    on = frontier(costs, np.array([False, False]))[0]
    first, *rest = np.sort(costs[0, :, 0])
    if not rest or rest[0] - first > 0.0051:
        assert on[int(np.argmin(costs[0, :, 0]))]


def test_chances_tell_how_sure_it_is() -> None:
    dice = np.random.default_rng(2)
    sure = np.stack([np.full(60, -0.9), np.full(60, 1.0), np.full(60, -0.5), np.full(60, 2.0)], 1)
    found = chances(clustered(sure, np.arange(60)), (2, 2), ABSOLUTE)
    assert found == [1.0, 0.0]
    quality = -(dice.random((60, 2)) < 0.5).astype(float)
    level = np.stack([quality[:, 0], np.ones(60), quality[:, 1], np.ones(60)], 1)
    tossed = chances(clustered(level, np.arange(60)), (2, 2), ABSOLUTE)
    assert min(tossed) > 0.05
    assert sum(tossed) > 1.0 - 1e-9
