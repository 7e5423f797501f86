from __future__ import annotations

import pytest

from gateway.shares import Rights, ahead, expected, independent, shrunk

NONE: tuple[Rights, Rights] = ({}, {})


def asked(won: int, lost: int, both: int = 0) -> tuple[Rights, Rights]:
    first = [True] * won + [False] * lost + [True] * both
    second = [False] * won + [True] * lost + [True] * both
    return dict(enumerate(first)), dict(enumerate(second))


def test_few_answers_tell_models_apart_less_than_many() -> None:
    few, many = shrunk([(5, 5), (3, 5)]), shrunk([(500, 500), (300, 500)])

    assert few[0] - few[1] < 0.25
    assert many == pytest.approx([0.998, 0.6], abs=0.01)


def test_models_that_chance_alone_may_tell_apart_are_taken_to_be_equal() -> None:
    first, second = shrunk([(31, 40), (30, 40)])

    assert first == pytest.approx(second)
    assert first == pytest.approx(0.75, abs=0.02)


def test_one_model_is_taken_as_it_was_found() -> None:
    assert shrunk([(8, 8)]) == [0.9]
    assert shrunk([]) == []


def test_a_few_answers_of_a_kind_leave_a_strong_model_strong() -> None:
    found = expected({"strong": (2, 2), "weak": (2, 2)}, {"strong": (99, 102), "weak": (52, 102)})

    assert found["strong"] - found["weak"] > 0.2


def test_many_answers_of_a_kind_count_for_themselves() -> None:
    found = expected(
        {"letters": (190, 200), "numbers": (60, 200)},
        {"letters": (250, 400), "numbers": (250, 400)},
    )

    assert found == pytest.approx({"letters": 0.95, "numbers": 0.3}, abs=0.03)


def test_a_kind_that_is_hard_for_all_is_expected_to_be_hard() -> None:
    overall = {"strong": (99, 110), "weak": (70, 110)}

    easy = expected({"strong": (9, 10), "weak": (8, 10)}, overall)
    hard = expected({"strong": (3, 10), "weak": (2, 10)}, overall)

    assert hard["strong"] < easy["weak"]
    assert hard["weak"] < hard["strong"]


def test_only_questions_that_one_of_two_has_right_tell_which_is_better() -> None:
    few, many = ahead(asked(1, 9), NONE, 0.2), ahead(asked(1, 9, both=90), NONE, 0.2)

    assert few == many == pytest.approx(1.4 / 12)


def test_what_one_is_ahead_the_other_is_behind() -> None:
    first, second = asked(3, 8)

    assert ahead((first, second), NONE, 0.3) == pytest.approx(1 - ahead((second, first), NONE, 0.7))


def test_where_nothing_tells_them_apart_they_are_taken_to_err_independently() -> None:
    assert ahead(NONE, NONE, independent(0.6, 0.9)) == pytest.approx(0.06 / 0.42)


def test_answers_of_other_kinds_count_where_there_are_few_and_little_where_there_are_many() -> None:
    elsewhere = asked(1, 99)

    assert ahead(asked(1, 0), elsewhere, 0.5) < 0.3
    assert ahead(asked(50, 5), elsewhere, 0.5) > 0.75
