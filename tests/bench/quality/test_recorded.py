from __future__ import annotations

import pytest

from bench.quality.recorded import Question, Sample, canonical, given, is_right, shown


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("5/1/2021", "05/01/2021"),
        ("05/01/2021", "05/01/2021"),
        ("30.0", "30"),
        ("1,200", "1200"),
        ("$20", "20"),
        (0.5, "0.5"),
        ("Uncle", "uncle"),
        ("1e3", "1000"),
        (None, None),
        ("[invalid]", None),
        ("NaN", None),
        ("", None),
    ],
)
def test_what_is_the_same_answer_is_written_the_same(answer: object, said: str | None) -> None:
    assert canonical(answer) == said


@pytest.mark.parametrize("answer", ["05/01/2021", "42", "uncle", "e", "-1.5"])
def test_an_answer_is_read_back_from_the_text_that_stands_for_it(answer: str) -> None:
    assert given(shown(Sample(answer, right=True))) == answer


def test_the_last_statement_of_an_answer_counts() -> None:
    assert given("The answer is 4.\n\nNo: the answer is 5.") == "5"
    assert given("**Final answer:** 7") == "7"
    assert given("42") == "42"


def test_a_recorded_text_is_right_if_it_was_marked_so() -> None:
    kept = (Sample(None, right=True, text="So 6 and 7 make 42 of them."), Sample("41", right=False))
    question = Question("1", "?", frozenset({"42"}), {"m": kept})

    assert is_right(question, "So 6 and 7 make 42 of them.\n")
    assert is_right(question, "The answer is 42.")
    assert not is_right(question, "The answer is 41.")
    assert not is_right(question, "I do not know.")
