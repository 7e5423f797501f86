from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from router_service.evaluation.statistics.intervals import (
    by_t,
    clopper_pearson,
    estimate,
    standard_error,
    wilson,
)
from router_service.evaluation.statistics.resampling import bca, clustered


def _alone(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(len(values))


@pytest.mark.parametrize("kind", ["normal", "skewed", "shares"])
def test_bca_is_that_of_scipy(kind: str, dice: np.random.Generator) -> None:
    values = {
        "normal": dice.normal(0.3, 1, 80),
        "skewed": dice.lognormal(0, 1, 60),
        "shares": dice.integers(0, 2, 90).astype(float),
    }[kind]
    ours = bca(clustered(values, _alone(values)))
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    assert ours is not None
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.06 * width)
    assert ours.high == pytest.approx(theirs.high, abs=0.06 * width)


def test_bca_leans_where_the_values_do(dice: np.random.Generator) -> None:
    values = dice.lognormal(0, 1.2, 50)
    found = bca(clustered(values, _alone(values)))
    assert found is not None
    assert found.high - values.mean() > values.mean() - found.low


def test_the_same_seed_draws_the_same_interval(dice: np.random.Generator) -> None:
    units = clustered(dice.normal(0, 1, 40), np.arange(40))
    assert bca(units, seed=3) == bca(units, seed=3) != bca(units, seed=4)


def test_of_values_that_are_all_alike_nothing_can_be_off() -> None:
    found = bca(clustered(np.full(40, 0.25), np.arange(40)))
    assert found is not None
    assert (found.low, found.high) == (0.25, 0.25)


def test_one_unit_has_no_interval() -> None:
    assert bca(clustered(np.array([0.5]), np.array([0]))) is None
    assert estimate(clustered(np.array([0.5]), np.array([0]))).interval is None


def test_the_mean_is_inside_19_times_of_20(
    dice: np.random.Generator,
) -> None:
    inside = 0
    for _ in range(200):
        values = dice.normal(1, 2, 50)
        found = bca(clustered(values, _alone(values)))
        assert found is not None
        inside += found.low <= 1 <= found.high
    assert 0.9 <= inside / 200 <= 0.985


def test_prompts_of_one_document_are_no_independent_evidence(dice: np.random.Generator) -> None:
    documents = np.repeat(np.arange(20), 10)
    values = dice.normal(0, 1, 20)[documents] + dice.normal(0, 0.1, 200)
    naive = standard_error(clustered(values, _alone(values)))
    honest = standard_error(clustered(values, documents))
    assert honest > 2.5 * naive
    wide, narrow = bca(clustered(values, documents)), bca(clustered(values, _alone(values)))
    assert wide is not None
    assert narrow is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_clusters_of_different_sizes_keep_the_mean_over_prompts() -> None:
    units = clustered(np.array([1.0, 1, 1, 0]), np.array([4, 4, 4, 9]))
    assert estimate(units).mean == 0.75
    assert estimate(units).units == 2


def test_by_t_is_that_of_scipy(dice: np.random.Generator) -> None:
    values = dice.normal(2, 3, 12)
    ours = by_t(clustered(values, _alone(values)))
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize(("hits", "tries"), [(0, 5), (3, 10), (10, 10), (27, 40)])
def test_intervals_of_a_share_are_those_of_scipy(hits: int, tries: int) -> None:
    found = stats.binomtest(hits, tries)
    for ours, method in ((wilson(hits, tries), "wilson"), (clopper_pearson(hits, tries), "exact")):
        theirs = found.proportion_ci(0.95, method)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_few_prompts_go_by_a_closed_form(dice: np.random.Generator) -> None:
    numbers = clustered(dice.normal(0, 1, 12), np.arange(12))
    shares = clustered(np.array([1.0] * 11 + [0]), np.arange(12))
    many = clustered(dice.normal(0, 1, 30), np.arange(30))
    by = {
        name: [one.method for one in (told.interval, *told.others) if one is not None]
        for name, told in {
            "numbers": estimate(numbers),
            "shares": estimate(shares, share=True),
            "many": estimate(many),
        }.items()
    }
    assert by == {
        "numbers": ["t", "BCa"],
        "shares": ["Wilson", "Clopper-Pearson", "BCa"],
        "many": ["BCa"],
    }


def test_what_was_always_right_may_still_be_wrong_once() -> None:
    told = estimate(clustered(np.ones(60), np.arange(60)), share=True)
    assert told.interval is not None
    assert told.interval.method == "Wilson"
    assert told.interval.low < 0.95


def test_a_quality_is_never_said_to_be_more_than_all() -> None:
    units = clustered(np.array([1.0, 1, 1, 1, 0.2]), np.arange(5))
    free, bounded = estimate(units), estimate(units, bounded=True)
    assert free.interval is not None
    assert bounded.interval is not None
    assert free.interval.high > 1.0 == bounded.interval.high
    assert free.interval.low == bounded.interval.low
