from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.parts.isotonic import chance_at, isotonic

MARKS = st.lists(
    st.tuples(st.sampled_from((0.0, 0.2, 0.4, 0.6, 0.8, 1.0)), st.booleans()), min_size=1
)


def test_scores_that_tell_right_from_wrong_have_chances_apart() -> None:
    marks = [(0.2, False)] * 8 + [(0.9, True)] * 8
    scores, chances = zip(*isotonic(marks), strict=True)
    assert scores == (0.2, 0.9)
    assert chances == pytest.approx((5 / 18, 13 / 18))


def test_a_few_answers_of_an_extreme_score_are_not_the_surest() -> None:
    marks = [(0.1, False)] * 2 + [(0.4, False)] * 60 + [(0.4, True)] * 20 + [(0.9, True)] * 80
    knots = isotonic(marks)
    assert knots[0][0] == 0.1
    assert knots[0][1] == knots[1][1]


def test_scores_that_tell_nothing_have_one_chance() -> None:
    marks = [(0.2, True), (0.2, False), (0.9, True), (0.9, False)]
    assert [chance for _, chance in isotonic(marks)] == [0.5, 0.5]


def test_a_higher_score_that_is_less_often_right_is_put_together_with_the_lower() -> None:
    marks = [(0.1, True), (0.5, False), (0.9, True)]
    knots = isotonic(marks)
    assert [score for score, _ in knots] == [0.1, 0.5, 0.9]
    assert knots[0][1] == knots[1][1] < knots[2][1]


def test_between_two_scores_the_chance_lies_between() -> None:
    knots = [(0.2, 0.1), (0.8, 0.7)]
    assert chance_at(knots, 0.5) == pytest.approx(0.4)
    assert chance_at(knots, 0.2) == 0.1
    assert (chance_at(knots, 0.0), chance_at(knots, 1.0)) == (0.1, 0.7)


@given(MARKS)
def test_chances_never_fall_and_are_never_certain(marks: list[tuple[float, bool]]) -> None:
    knots = isotonic(marks)
    scores, chances = zip(*knots, strict=True)
    assert list(scores) == sorted(set(scores))
    assert list(chances) == sorted(chances)
    assert 0 < chances[0] <= chances[-1] < 1
    assert {score for score, _ in marks} >= set(scores)
