from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from router_service.evaluation.statistics.distributions import (
    Alternative,
    Numbers,
    rank_correlation,
)
from router_service.evaluation.statistics.paired import (
    adjusted,
    compared,
    detectable,
    effect,
    shift,
    sign_flip_p,
    tied,
    wins,
)

SIDES: tuple[Alternative, ...] = ("two-sided", "less", "greater")
SAMPLES = arrays.arrays(
    np.float64, st.integers(2, 10), elements=st.integers(-4, 4).map(lambda n: n / 4)
)


@pytest.mark.parametrize("side", SIDES)
def test_without_ties_it_is_wilcoxons_test(side: Alternative, dice: np.random.Generator) -> None:
    values = dice.normal(0.2, 1, 60)
    found = compared(values, side)
    assert found.test == "Wilcoxon"
    assert found.p == pytest.approx(
        stats.wilcoxon(values, zero_method="pratt", alternative=side).pvalue
    )


def test_with_many_ties_signs_are_flipped_and_wilcoxon_told_beside() -> None:
    values = np.array([0.0] * 20 + [1.0] * 8 + [-1.0] * 2)
    found = compared(values)
    assert found.test == "sign flips"
    assert dict(found.beside)["Wilcoxon"] == pytest.approx(
        stats.wilcoxon(values, zero_method="pratt").pvalue
    )


@pytest.mark.parametrize("side", SIDES)
def test_pairs_of_yes_and_no_are_compared_exactly(side: Alternative) -> None:
    values = np.array([0.0] * 50 + [1.0] * 9 + [-1.0] * 2)
    found = compared(values, side, binary=True)
    assert found.test == "McNemar"
    assert found.p == pytest.approx(stats.binomtest(9, 11, 0.5, alternative=side).pvalue)


@given(SAMPLES, st.sampled_from(SIDES))
def test_flipping_signs_is_counting_all_of_them(values: Numbers, side: Alternative) -> None:
    sums = [float(np.dot(signs, np.abs(values))) for signs in product((-1, 1), repeat=len(values))]
    found = float(values.sum())
    as_far = {
        "two-sided": [abs(one) >= abs(found) - 1e-9 for one in sums],
        "less": [one <= found + 1e-9 for one in sums],
        "greater": [one >= found - 1e-9 for one in sums],
    }[side]
    expected = float(np.mean(as_far)) if np.any(values) else 1.0
    assert sign_flip_p(values, side) == pytest.approx(expected)


@pytest.mark.parametrize("side", SIDES)
def test_many_signs_are_drawn_and_never_come_to_nothing(
    side: Alternative, dice: np.random.Generator
) -> None:
    values = dice.normal(0.25, 1, 60)
    drawn = sign_flip_p(values, side)
    theirs = stats.ttest_1samp(values, 0, alternative=side).pvalue
    assert drawn == pytest.approx(theirs, abs=0.02)
    assert sign_flip_p(np.ones(60), "two-sided") == pytest.approx(1 / 20_001)


def test_a_true_hypothesis_is_rejected_once_in_twenty(dice: np.random.Generator) -> None:
    ps = [compared(dice.normal(0, 1, 40)).p for _ in range(300)]
    assert 0.02 <= np.mean(np.array(ps) < 0.05) <= 0.085


@given(SAMPLES)
def test_the_two_sides_of_a_test_are_those_of_its_mirror(values: Numbers) -> None:
    assert compared(values, "less").p == pytest.approx(compared(-values, "greater").p)
    assert compared(values).p == pytest.approx(compared(-values).p)


def test_nothing_differs_where_all_is_level() -> None:
    assert compared(np.zeros(9)).p == compared(np.zeros(9), binary=True).p == 1.0


@given(SAMPLES)
def test_the_shift_is_the_median_of_all_pairs(values: Numbers) -> None:
    pairs = [(a + b) / 2 for i, a in enumerate(values) for b in values[i:]]
    assert shift(values) == pytest.approx(float(np.median(pairs)))


def test_of_very_many_a_part_is_enough_for_the_shift(dice: np.random.Generator) -> None:
    assert shift(dice.normal(0.5, 1, 20_000)) == pytest.approx(0.5, abs=0.06)


def test_the_effect_has_the_interval_of_the_noncentral_t(dice: np.random.Generator) -> None:
    values = dice.normal(0.5, 1, 80)
    found = effect(values)
    assert found is not None
    size, interval = found
    assert size == pytest.approx(values.mean() / values.std(ddof=1))
    count, t = len(values), size * np.sqrt(len(values))
    spots = np.linspace(0, 12, 4001)
    shares = stats.nct.cdf(t, count - 1, spots)
    inside = spots[(shares >= 0.025) & (shares <= 0.975)] / np.sqrt(count)
    assert interval.low == pytest.approx(inside[0], abs=0.02)
    assert interval.high == pytest.approx(inside[-1], abs=0.02)


@pytest.mark.parametrize("values", [np.zeros(5), np.full(5, 0.1), np.array([0.3])])
def test_what_never_varies_has_no_effect_size(values: Numbers) -> None:
    assert effect(values) is None


def test_wins_are_counted_and_level_pairs_are_half() -> None:
    found = wins(np.array([1.0, 2, 0, 0, -1]))
    assert (found.above, found.level, found.below) == (2, 2, 1)
    assert found.rate == pytest.approx(0.6)


@pytest.mark.parametrize("units", [8, 15, 50])
def test_what_can_be_detected_is_found_four_times_of_five(
    dice: np.random.Generator, units: int
) -> None:
    least = detectable(1 / np.sqrt(units), units)
    assert least is not None
    found = [stats.ttest_1samp(dice.normal(least, 1, units), 0).pvalue < 0.05 for _ in range(2000)]
    assert 0.77 <= np.mean(found) <= 0.83
    ours = [compared(dice.normal(least, 1, units)).p < 0.05 for _ in range(300)]
    assert 0.70 <= np.mean(ours) <= 0.86


@pytest.mark.parametrize("units", range(2, 6))
def test_so_few_that_no_test_finds_anything_detect_nothing(units: int) -> None:
    clear = np.linspace(1, 2, units)
    assert compared(clear).p > 0.05
    assert detectable(0.001, units) is None
    assert compared(np.linspace(1, 2, 6)).p < 0.05


def test_what_never_varied_does_not_tell_what_could_be_detected() -> None:
    assert detectable(0.0, 50) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusted_ps_are_those_of_scipy(ps: list[float]) -> None:
    assert adjusted(ps) == pytest.approx(list(stats.false_discovery_control(ps)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_adjusting_only_raises_and_keeps_the_order(ps: list[float]) -> None:
    found = adjusted(ps)
    assert all(p <= q <= 1 for p, q in zip(ps, found, strict=True))
    order = np.argsort(ps, kind="stable")
    assert list(np.array(found)[order]) == sorted(found)


def test_adjusting_nothing_is_nothing() -> None:
    assert adjusted([]) == []


def test_ties_are_zeros_and_equal_sizes() -> None:
    assert tied(np.array([0.1, -0.1, 0.3, 0.0])) == 0.75
    assert tied(np.array([0.1 + 0.2, 0.3, 0.7])) == pytest.approx(2 / 3)


def test_ranks_are_spearmans_and_none_where_nothing_varies(dice: np.random.Generator) -> None:
    xs, ys = dice.normal(size=30), dice.normal(size=30)
    assert rank_correlation(xs, ys) == pytest.approx(stats.spearmanr(xs, ys).statistic)
    assert rank_correlation(xs, np.ones(30)) is None
