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
