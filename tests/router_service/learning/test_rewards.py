from __future__ import annotations

from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.learning.rewards import (
    RELIABILITY,
    Signal,
    asked_again,
    combined,
    compared,
    refused_form,
)

SHARES = st.floats(0, 1)
SIGNALS = st.builds(
    Signal,
    st.sampled_from(sorted(RELIABILITY)),
    st.none() | SHARES,
    st.none() | SHARES,
    st.none() | st.floats(-0.2, 0.2),
    st.booleans(),
)


@given(st.lists(SIGNALS, max_size=6))
def test_a_reward_stays_within_its_bounds_whatever_is_said(signals: list[Signal]) -> None:
    reward = combined(signals)

    if reward is not None:
        assert 0 <= reward.quality <= 1
        assert reward.plain_quality is None or 0 <= reward.plain_quality <= 1
        assert 0 < reward.reliability <= 1


@given(st.lists(SIGNALS, max_size=6))
def test_the_order_of_signals_does_not_matter(signals: list[Signal]) -> None:
    there, back = combined(signals), combined(signals[::-1])

    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert there.quality == pytest.approx(back.quality)
        assert there.source == back.source


def test_nothing_comes_of_nothing() -> None:
    assert combined([]) is None
    assert combined([Signal("judge")]) is None


def test_sources_weigh_by_how_far_they_are_to_be_believed() -> None:
    reward = combined([Signal("feedback", 1.0), Signal("judge", 0.2)])

    assert reward is not None
    assert reward.quality == pytest.approx((1.0 + 0.6 * 0.2) / 1.6)
    assert reward.source == "feedback+judge"
    assert reward.reliability == 1.0


def test_two_weak_sources_leave_less_doubt_than_one() -> None:
    reward = combined([Signal("judge", 0.5), Signal("tool_success", 0.5)])

    assert reward is not None
    assert reward.reliability == pytest.approx(1 - 0.4 * 0.3)


@pytest.mark.parametrize("exact", [Signal("tests", 0.0), refused_form()])
def test_no_opinion_outranks_what_was_checked(exact: Signal) -> None:
    reward = combined([Signal("judge", 1.0), Signal("feedback", 1.0), exact])

    assert reward is not None
    assert reward.quality == 0


def test_that_an_answer_keeps_its_form_does_not_make_it_right() -> None:
    reward = combined([Signal("schema", 1.0), Signal("judge", 0.3)])

    assert reward is not None
    assert reward.quality == pytest.approx(0.3)


def test_a_comparison_tells_the_difference_and_not_the_level() -> None:
    better, worse = combined([compared("first")], 0.6), combined([compared("second", 0.5)], 0.6)

    assert better is not None
    assert worse is not None
    assert [better.quality, better.plain_quality] == pytest.approx([0.7, 0.6])
    assert [worse.quality, worse.plain_quality] == pytest.approx([0.55, 0.6])
    assert combined([compared("tie")]) is not None


def test_the_same_question_again_soon_speaks_against_the_answer() -> None:
    again = asked_again(299, 0.95)

    assert again is not None
    reward = combined([again])
    assert reward is not None
    assert [reward.quality, reward.reliability] == pytest.approx([0.0, 0.3])
    assert asked_again(301, 0.95) is None
    assert asked_again(10, 0.9) is None


def test_the_score_that_chose_an_answer_is_not_taken_for_its_quality() -> None:
    """The greatest of five noisy scores is too good by 1.16 standard deviations."""
    random, noise, truth = Random(1), 0.1, 0.5
    naive, fresh = [], []
    for _ in range(2000):
        chose = max(random.gauss(truth, noise) for _ in range(5))
        signals = [Signal("judge", chose, truth, chose=True), Signal("judge", truth, truth)]
        naive.append(chose)
        reward = combined([signals[0], Signal("judge", random.gauss(truth, noise), truth)])
        assert reward is not None
        fresh.append(reward.quality)

    assert fmean(naive) - truth > noise
    assert fmean(fresh) == pytest.approx(truth, abs=4 * noise / 2000**0.5)
    assert combined([Signal("judge", 0.9, chose=True)]) is None
