from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from techniques.core.reply import replied
from techniques.parts.answers import expect
from techniques.parts.matching import MatchMode, matches
from tests.techniques.scene import asks

CITIES = "Which is the capital?\nA) London\nB) Paris\nC) Rome"


def right(mode: MatchMode, text: str, reference: str, question: str = "") -> bool:
    return matches(mode, replied(text), reference, expect(asks(question)))


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        ("The answer is B.", "B", True),
        ("Final answer: **b**", "B", True),
        ("Paris", "B", True),
        ("It is B", "B) Paris", True),
        ("It is B", "Paris", True),
        ("I first thought A, so C it is", "B", False),
        ("A village, I think", "A", False),
        ("I do not know", "A", False),
        ("", "A", False),
    ],
)
def test_a_letter_is_compared_with_a_letter(text: str, reference: str, *, is_right: bool) -> None:
    assert right("exact_letter", text, reference, CITIES) is is_right


@pytest.mark.parametrize("text", ["J", "Answer: (J)", "I think it is J."])
def test_without_options_in_the_question_any_letter_up_to_j_may_be_right(text: str) -> None:
    assert right("exact_letter", text, "J")
    assert not right("exact_letter", text, "B")


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        ("So she has 18 left.", "18", True),
        ("The answer is $18.00", "He had 20 and gave away 2.\n#### 18", True),
        ("\\boxed{\\frac{1}{2}}", "0.5", True),
        ("so 12 of the 36", "12", True),
        ("1,000", "1000", True),
        ("0.3333333333", "1/3", True),
        ("0.333", "1/3", False),
        ("1000000000000", "1000000000001", True),
        ("It is 5 km", "5 m", False),
        ("It is 5", "5 m", True),
        ("19", "18", False),
        ("eighteen, or so", "18", False),
        ("", "0", False),
    ],
)
def test_a_number_is_compared_with_a_number(text: str, reference: str, *, is_right: bool) -> None:
    assert right("numeric", text, reference) is is_right


@pytest.mark.parametrize(
    ("text", "is_right"),
    [("\\boxed{2\\sqrt{3}}", True), ("\\boxed{2\\sqrt{5}}", False), ("The answer is 2.", False)],
)
def test_a_formula_is_no_number(text: str, *, is_right: bool) -> None:
    assert right("numeric", text, "2\\sqrt{3}") is is_right


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        ("Yes, it is.", "yes", True),
        ("It is not true.", "False", True),
        ("There is no reason to doubt it. It is true.", "true", True),
        ("No.", "yes", False),
        ("Who knows.", "no", False),
    ],
)
def test_a_verdict_is_compared_with_a_verdict(text: str, reference: str, *, is_right: bool) -> None:
    assert right("yes_no", text, reference) is is_right


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        ("About 104", "100", True),
        ("106", "100", False),
        ("0.04", "0", True),
        ("0.06", "0", False),
        ("-96", "-100", True),
        ("Brazil", "Brazil", True),
        ("Peru", "Brazil", False),
        ("no idea", "100", False),
    ],
)
def test_a_relaxed_number_may_be_off_by_a_twentieth(
    text: str, reference: str, *, is_right: bool
) -> None:
    assert right("relaxed", text, reference) is is_right


@pytest.mark.parametrize(
    ("text", "reference", "is_right"),
    [
        ("The Eiffel Tower!", "eiffel tower", True),
        ("Answer: Marie Curie", "marie curie", True),
        ("It was written by Jane Austen.", "Jane Austen", True),
        ("That is well known.", "no", False),
        ("He came from Romeo's town.", "Rome", False),
        ("Twelve", "12", True),
        ("Jane Austen" + " and so on" * 40, "Jane Austen", False),
        (f"{'x ' * 500}casino", "no", False),
        ("\u7b54\u6848\u662f\u5317\u4eac", "\u5317\u4eac", True),
        ("\u5317\u4eac", "\u5317\u4eac", True),
        ("?", "?", True),
        ("", "x", False),
    ],
)
def test_words_are_found_whole_and_at_the_end(text: str, reference: str, *, is_right: bool) -> None:
    assert right("exact_match", text, reference) is is_right


@pytest.mark.parametrize(
    ("mode", "reference"),
    [("exact_letter", "Q"), ("yes_no", "perhaps"), ("numeric", " "), ("exact_match", "")],
)
def test_a_reference_that_is_no_answer_is_an_error_and_not_a_wrong_answer(
    mode: MatchMode, reference: str
) -> None:
    with pytest.raises(ValueError, match="reference"):
        right(mode, "x", reference)


@given(st.text(max_size=200), st.sampled_from(["exact_letter", "numeric", "yes_no", "exact_match"]))
def test_no_text_breaks_the_comparison(text: str, mode: MatchMode) -> None:
    reference = {"exact_letter": "B", "numeric": "7", "yes_no": "no"}.get(mode, "Paris")

    assert right(mode, text, reference, CITIES) in {True, False}
