"""The lines that were asked for are taken out as models write them; no answer goes with them."""

from __future__ import annotations

import pytest

from techniques.core.reply import replied
from techniques.parts.answers import expect
from techniques.parts.confidence import spoken, token_sureness
from techniques.parts.cue import cue_line, uncued
from techniques.parts.keys import key_of
from tests.techniques.scene import asks, tokens

LINES = (
    "Final answer : 42",
    "Final  answer: 42",
    "FINAL ANSWER\uff1a 42",
    "Final answer:\u00a042",
    "\u200bFinal answer: 42",
    "\u2022 Final answer: 42",
    "\u2013 Final answer: 42",
    "1. Final answer: 42",
    "12) Final answer: 42",
    "(Final answer: 42)",
    "[Final answer: 42].",
    '"Final answer: 42"',
    "\u201cFinal answer: 42\u201d",
    "**(Final answer: 42)**",
    "* **Final answer:** 42",
    "Final answer: **42**",
    "Final answer: `42`",
    "Final answer:\n42",
    "Final answer:\n\n**42**",
    "Final answer: 42\nFinal answer: 42",
    "Final answer: 42\n\n**Final answer: 42**\n",
    "Final answer:",
    "Final answer: **",
)
KEPT = (
    ("42", "42"),
    ("A*", "A*"),
    ("f(x)", "f(x)"),
    ("__init__", "__init__"),
    ("`a` and `b`", "`a` and `b`"),
    ("2 * 3 *", "2 * 3"),
    ("x" * 5_000, "x" * 5_000),
)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("after", ["", "\n\nThanks."])
def test_a_line_that_strays_a_little_is_taken_out(line: str, after: str) -> None:
    if after and line.endswith("42**") and "\n\n**4" in line:
        after = ""
    left = uncued(replied(f"So it is 42.\n{line}{after}")).text
    assert "final" not in left.casefold()
    assert left.startswith("So it is 42.")
    assert left.endswith(after)


@pytest.mark.parametrize("line", [line for line in LINES if "42" in line])
def test_the_answer_on_a_line_that_strays_a_little_is_read(line: str) -> None:
    expected = expect(asks("How many is 6 times 7?"))
    assert key_of(replied(f"Six times seven. It is 41 or more.\n{line}"), expected) == "number|42|"


@pytest.mark.parametrize(("value", "left"), KEPT)
@pytest.mark.parametrize("form", ["Final answer: {}", "**Final answer:** {}", "* Final answer: {}"])
def test_an_answer_that_only_the_line_gives_stays_as_it_is(
    form: str, value: str, left: str
) -> None:
    assert uncued(replied(f"So.\n{form.format(value)}")).text == f"So.\n\n{left}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("So.\nFinal answer: 42\n\nThanks.", "So.\n\n42\n\nThanks."),
        ("So.\nFinal answer:\n42", "So.\n\n42"),
        ("So.\nFinal answer:\n- 4\n- 2", "So.\n\n- 4\n- 2"),
        ("So.\nFinal answer: x = 4\nFinal answer: y = 2", "So.\n\nx = 4\ny = 2"),
        ("(Final answer: f(x))", "f(x)"),
        ("Final answer: 42\nThat is 6 times 7.", "42\n\nThat is 6 times 7."),
        ("Final answer: 1\n2\n3\n4\n5", "Final answer: 1\n2\n3\n4\n5"),
        ("My final answer: 42", "My final answer: 42"),
        ("Final answers: 42", "Final answers: 42"),
        ("```\nx = 1\nFinal answer: 42\n```", "```\nx = 1\nFinal answer: 42\n```"),
        ("Final answer:\n```\nx = 1\n```", "```\nx = 1\n```"),
    ],
)
def test_nothing_but_the_line_is_taken_out(text: str, left: str) -> None:
    assert uncued(replied(text)).text == left


def test_what_comes_before_the_first_such_line_is_the_answer() -> None:
    reply = tokens("It is 42", 0.5, "\n", 0.5, "Final answer : 42", 0.1, "\nThanks.", 0.1)
    assert cue_line(reply.text) == len("It is 42\n")
    assert token_sureness(reply) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("line", "sure"),
    [
        ("Confidence: high", None),
        ("My confidence: Very high.", None),
        ("Confidence: 90 out of 100", 0.9),
        ("(Confidence: 90)", 0.9),
        ("[Confidence: 90%]", 0.9),
        ('"Confidence: 90"', 0.9),
        ("Confidence: 90 (very sure)", 0.9),
        ("Confidence level: 90", 0.9),
        ("**Confidence score**: 90", 0.9),
        ("Confidence\uff1a90", 0.9),
        ("\u2022 Confidence : ~90 %", 0.9),
        ("2. Confidence: 90", 0.9),
        ("Confidence: 90\nConfidence: 90", 0.9),
        ("Confidence: 20\n\nConfidence: 90", 0.9),
        ("Confidence: 90\nConfidence: high", 0.9),
        ("Confidence: 90.5", 0.905),
        ("Confidence: 0.9", 0.9),
        ("Confidence: 0,9", 0.9),
        ("Confidence: 1.0", 1.0),
        ("Confidence: 0.5%", 0.005),
        ("Confidence: 1", 0.01),
        ("Confidence: 0", 0.0),
        ("Confidence: 1.5", 0.015),
    ],
)
def test_confidence_that_strays_a_little_is_read_and_taken_out(
    line: str, sure: float | None
) -> None:
    reply, found = spoken(replied(f"It is 42.\n\n{line}"))
    assert reply.text == "It is 42."
    assert found == (None if sure is None else pytest.approx(sure))


@pytest.mark.parametrize(
    "text",
    [
        "Confidence: high",
        "It is 42.\nConfidence: see the table",
        "It is 42.\nConfidence: 90, as 6 times 7 is 42",
        "It is 42.\nConfidence interval: 90",
        "It is 42.\nConfidence 90",
        "```\nname: x\nConfidence: 90\n```",
    ],
)
def test_what_says_something_else_stays(text: str) -> None:
    assert spoken(replied(text)) == (replied(text), None)
