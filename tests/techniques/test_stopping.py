from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.parts.stopping import (
    Lead,
    confidence,
    enough,
    expected_gain,
    forecast,
    majority,
    next_wave,
    share_interval,
)


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [(0, 0, 0.5), (3, 0, 15 / 16), (4, 0, 31 / 32), (2, 1, 11 / 16), (5, 1, 120 / 128)],
)
def test_confidence_is_the_beta_tail(first: int, second: int, value: float) -> None:
    assert confidence(first, second) == pytest.approx(value)


@given(st.integers(0, 60), st.integers(0, 60))
def test_confidence_of_one_side_and_of_the_other_add_up(first: int, second: int) -> None:
    assert confidence(first, second) + confidence(second, first) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("stands", "wave"),
    [
        (Lead(3, 0, 2), 0),
        (Lead(2, 1, 2), 1),
        (Lead(1, 1, 2), 2),
        (Lead(3, 0, 17), 1),
        (Lead(2, 1, 17), 4),
        (Lead(4, 0, 16), 0),
        (Lead(0, 0, 0), 0),
        (Lead(1, 1, 1), 1),
    ],
)
def test_the_next_wave_is_the_least_that_could_end_the_vote(stands: Lead, wave: int) -> None:
    assert next_wave(stands, 0.95) == wave


def test_without_a_threshold_only_certainty_ends_the_vote() -> None:
    assert next_wave(Lead(4, 0, 16), None) == 7
    assert Lead(11, 0, 9).decided
    assert not Lead(10, 0, 10).decided


@given(st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_decided_vote_stays_decided(first: int, second: int, left: int) -> None:
    if Lead(first, second, left).decided:
        assert all(first > second + more for more in range(left + 1))


def test_votes_that_count_less_are_rounded_against_the_first() -> None:
    assert majority(Lead(2.9, 0.2, 5)) == confidence(2, 1)
    assert majority(Lead(3 * 0.1 * 10, 0, 5)) == confidence(3, 0)


def test_what_is_to_come_may_weigh_less_than_one() -> None:
    stands = Lead(0, 0, 3, coming=(1.0, 0.3, 0.3))
    assert next_wave(stands, None) == 1
    assert stands.after(1).decided
    assert not Lead(0, 0, 3, coming=(0.3, 0.3, 1.0)).after(2).decided


@pytest.mark.parametrize(
    ("stands", "value"),
    [
        (Lead(3, 0, 0), 1.0),
        (Lead(2, 2, 0), 0.5),
        (Lead(1, 0, 1), 7 / 8),
        (Lead(1, 1, 2), 0.5),
        (Lead(2, 0, 2), 29 / 30),
    ],
)
def test_the_forecast_is_the_chance_that_the_first_stays_the_first(
    stands: Lead, value: float
) -> None:
    assert forecast(stands) == pytest.approx(value, abs=1e-4)


@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 5), st.integers(1, 12))
def test_a_forecast_is_what_the_next_draw_leads_one_to_expect(
    first: int, second: int, others: int, left: int
) -> None:
    def then(gain: int, loss: int, rest: int) -> float:
        return forecast(Lead(first + gain, second + loss, left - 1, others=others + rest))

    total = first + second + others + 3
    expected = (first + 1) * then(1, 0, 0) + (second + 1) * then(0, 1, 0)
    expected += (others + 1) * then(0, 0, 1)
    assert forecast(Lead(first, second, left, others=others)) == pytest.approx(expected / total)


def test_the_fewer_draws_are_left_the_less_it_takes_to_be_sure() -> None:
    waves = [next_wave(Lead(2, 1, left), 0.95, forecast) for left in (2, 7, 17, 37)]
    assert waves == [1, 2, 3, 3]
    assert next_wave(Lead(3, 0, 17), 0.95, forecast) == 0


def test_little_is_gained_after_a_clear_best() -> None:
    assert expected_gain([0.5]) == math.inf
    assert expected_gain([0.2, 0.9]) > expected_gain([0.7, 0.7, 0.7, 0.75])


def test_enough_is_a_good_score_or_no_gain_worth_its_price() -> None:
    assert enough([0.3, 0.95], 0.9, None)
    assert not enough([0.5, 0.51], 0.9, None)
    assert enough([0.5, 0.5, 0.5, 0.6], 0.9, 2.0)
    assert not enough([0.1, 0.8], 0.9, 2.0)
    assert not enough([], 0.9, 2.0)


def test_the_interval_of_a_share_holds_it_and_narrows() -> None:
    low, high = share_interval(3, 4)
    assert low < 0.75 < high
    wider = share_interval(3, 4)[1] - share_interval(3, 4)[0]
    narrower = share_interval(30, 40)[1] - share_interval(30, 40)[0]
    assert narrower < wider
    assert share_interval(0, 5)[0] == 0.0
    assert share_interval(5, 5)[1] == 1.0
