from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.parts.weights import COUNT, Rule, RuleName, weights

RULES: list[RuleName] = ["raw", "softmax", "shrunk", "logodds"]
every_rule = pytest.mark.parametrize("name", RULES)


def test_counted_votes_weigh_the_same_whatever_is_known() -> None:
    assert weights([0.9, None, 0.1], COUNT, 2) == [1, 1, 1]


@every_rule
def test_with_nothing_known_each_vote_counts(name: RuleName) -> None:
    assert weights([None, None], Rule(name), 2) == [1, 1]
    assert weights([], Rule(name), 0) == []


@every_rule
def test_what_is_not_known_weighs_like_the_median(name: RuleName) -> None:
    low, middle, high, unknown = weights([0.3, 0.6, 0.9, None], Rule(name), 2)
    assert low < middle < high
    assert unknown == middle


@every_rule
@given(
    evidence=st.lists(st.none() | st.floats(0, 1), max_size=6),
    temperature=st.floats(0.02, 10),
    answers=st.integers(0, 6),
)
def test_a_weight_is_above_nothing_and_never_more_than_one(
    name: RuleName, evidence: list[float | None], temperature: float, answers: int
) -> None:
    found = weights(evidence, Rule(name, temperature), answers)
    assert len(found) == len(evidence)
    assert all(0 < weight <= 1 for weight in found)


def test_softmax_at_a_low_temperature_lets_the_surest_win_and_at_a_high_one_counts() -> None:
    low = weights([0.9, 0.8, 0.8], Rule("softmax", 0.05), 2)
    assert low[0] > low[1] + low[2]
    high = weights([0.9, 0.8, 0.8], Rule("softmax", 10), 2)
    assert high[0] < high[1] + high[2]
    assert high[0] / high[1] == pytest.approx(math.exp(0.01))


def test_differences_that_noise_explains_count_nothing_and_large_ones_nearly_all() -> None:
    near = weights([0.80, 0.84, 0.86], Rule("shrunk"), 2)
    assert max(near) == pytest.approx(min(near))
    far = weights([0.2, 0.9], Rule("shrunk"), 2)
    kept = 1 - 0.06**2 / 0.35**2
    assert far[1] / far[0] == pytest.approx(math.exp(kept * 0.7 / 0.2))


def test_log_odds_are_the_more_worth_the_more_wrong_answers_there_are() -> None:
    two = weights([0.9, 0.5], Rule("logodds", noise=0), 2)
    assert two[1] / two[0] == pytest.approx(math.log(2) / (math.log(9) + math.log(2)))
    five = weights([0.9, 0.5], Rule("logodds", noise=0), 5)
    assert five[1] / five[0] > two[1] / two[0]


def test_no_evidence_makes_a_vote_all_or_nothing() -> None:
    certain, hopeless = weights([1.0, 0.0], Rule("logodds", noise=0), 2)
    assert certain == 1
    assert 0 < hopeless < 0.01
