from __future__ import annotations

import pytest

from bench.real_model import Asked, Row, is_right, questions, render


def test_questions_are_the_same_for_the_same_seed() -> None:
    assert list(questions(6, 1, "")) == list(questions(6, 1, ""))
    assert list(questions(6, 1, "")) != list(questions(6, 2, ""))
    assert list(questions(3, 1, "")) == list(questions(6, 1, ""))[:3]


def test_every_question_has_its_answer() -> None:
    for question in questions(40, 0, "Reply with the number only."):
        words = question.text.split()
        first, operator, second = int(words[2]), words[3], int(words[4].rstrip("?"))
        assert question.answer == (first + second if operator == "+" else first * second)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("1,204", True),
        ("602 + 602 = **1204**.", True),
        ("Answer: 1204.0", True),
        ("1204 is my first guess; no: 1203", False),
        ("I do not know.", False),
        ("", False),
    ],
)
def test_the_last_number_is_what_counts(text: str, *, right: bool) -> None:
    assert is_right(text, 1204) is right


def test_won_and_lost_are_counted_question_by_question() -> None:
    plain = [Asked(right, 1, 40, 1.0) for right in (True, False, False, True)]
    voted = [Asked(right, 4, 160, 3.0) for right in (False, True, True, True)]

    table = render({"none": Row(plain), "self_consistency": Row(voted)})

    assert "| none | 2 of 4 | 0 | 0 | 1.0 | 40 | 1.0 |" in table
    assert "| self_consistency | 3 of 4 | 2 | 1 | 4.0 | 160 | 3.0 |" in table
