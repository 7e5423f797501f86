from __future__ import annotations

import pytest

from bench.quality.statistics import difference, mean, share


def test_one_answer_a_question_has_wilsons_interval() -> None:
    found = share([1.0] * 8 + [0.0] * 2)

    assert found.mean == pytest.approx(0.8)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_questions_that_were_all_right_are_not_beyond_doubt() -> None:
    found = share([1.0] * 20)

    assert found.high == pytest.approx(1.0)
    assert found.low == pytest.approx(0.8389, abs=1e-4)


def test_repeats_of_a_question_do_not_make_the_interval_narrower() -> None:
    once = share([1.0, 0.0] * 20)
    repeated = share([0.5 + 0.5 * (-1) ** at for at in range(39)] + [0.5])

    assert once.high - once.low == pytest.approx(repeated.high - repeated.low, abs=0.05)


def test_a_difference_is_taken_question_by_question() -> None:
    ours, theirs = [1.0, 1.0, 0.0, 1.0] * 25, [1.0, 0.0, 0.0, 1.0] * 25

    found = difference(ours, theirs)

    assert found.mean == pytest.approx(0.25)
    assert 0.15 < found.low < 0.25 < found.high < 0.35


def test_what_never_differs_has_no_interval_around_it() -> None:
    found = difference([1.0, 0.0], [1.0, 0.0])

    assert (found.mean, found.low, found.high) == (0.0, 0.0, 0.0)


def test_the_same_values_have_the_same_interval_every_time() -> None:
    assert mean([0.0, 0.3, 1.0]) == mean([0.0, 0.3, 1.0])


def test_nothing_was_found_of_no_questions() -> None:
    assert (share([]).low, share([]).high) == (0.0, 1.0)
    assert mean([]).mean == 0.0
