"""Reading an answer takes time in proportion to its length, whatever a model wrote.

A reader that backtracks needs the square of the length, or worse. The bound on its time is a
hundred times what a linear reader needs, so that only the kind of work decides, not the machine.
"""

from __future__ import annotations

from typing import Final

import pytest

from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts.answers import expect
from techniques.parts.confidence import spoken
from techniques.parts.cue import uncued
from techniques.parts.keys import key_of
from techniques.parts.novelty import Known
from techniques.parts.passages import Passages
from techniques.parts.programs import program_in, suite_in
from tests.techniques.pace import within

QUESTIONS: Final = {
    "number": "How many is 17 * 23?",
    "yes_no": "Is the sky blue? Answer yes or no.",
    "letter": "Which one?\nA) 1\nB) 2\nC) 3",
}
LENGTHS: Final = (3_900, 7_900, 20_000)  # within what is read whole, at its bound, beyond it
HOSTILE: Final = {
    "one sign": ("", "!", "i can"),
    "one word": (". is ", "x", ""),
    "blanks in a statement": ("the answer", " ", "x"),
    "copulas": ("", "is ", ""),
    "nested brackets": ("", "(", ""),
    "bold": ("", "**", ""),
    "boxes": ("", "\\boxed{", ""),
    "statements": ("", "the answer is ", ""),
    "denials": ("", "not no ", ""),
    "stops": ("", ". ", ""),
    "letters": ("", "A ", ""),
    "dashes": ("", "-", ""),
    "currency": ("", "$", "1"),
    "fractions": ("answer: ", "1/", ""),
    "commas": ("", "1,", ""),
    "apostrophes": ("is ", "a'", ""),
    "lines": ("", "\n", "x"),
    "cue and blanks": ("Final answer:", " ", "\nx"),
    "cue and marks": ("Final answer:", "*", "x\nx"),
    "confidence and blanks": ("Confidence:", " ", "x"),
    "confidence and marks": ("x\nConfidence:", "* ", "9"),
    "fences": ("", "```\n~~~\n", ""),
    "fences and blanks": ("", "```" + " " * 9, "x"),
    "examples": ("", ">>> ", ""),
    "assertions": ("", "assert not ", ""),
    "cues": ("", "\nFinal answer:   ", "x"),
}
GUARDED: Final = HOSTILE | {
    "dots": ("", "a.", ""),
    "underscores": ("", "a_", " "),
    "capitals": ("", "aA", "!"),
    "hyphens": ("", "A-", ", 2020"),
    "addresses": ("", "a.a@", ""),
    "links": ("", "www.", ""),
    "ticks": ("", "`a", ""),
    "numbers": ("", "1.1,", ""),
    "lists": ("", "- > 1.", ""),
    "quotes": ("x", '"', " "),
}
SECONDS: Final = 1.0


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_no_text_keeps_a_reader_busy(
    question: str, hostile: tuple[str, str, str], length: int
) -> None:
    before, again, after = hostile
    text = before + again * (length // len(again)) + after
    expected = expect(Request("", (said("user", question),)))
    readers = (
        lambda: key_of(replied(text), expected),
        lambda: uncued(replied(text)),
        lambda: spoken(replied(text)),
        lambda: program_in(replied(text)),
        lambda: suite_in(Request("", (said("user", text),))),
    )
    within(SECONDS, lambda: [reader() for reader in readers])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("The sum is 42.\n**Final answer:** `42`  \n\n", "The sum is 42."),
        ("final answer: 42", "42"),
        ("> **Final Answer**: 7 **", "7"),
        ("No cue at all", "No cue at all"),
        ("Final answer 7", "Final answer 7"),
    ],
)
def test_the_line_with_the_final_answer_is_taken_out(text: str, told: str) -> None:
    assert uncued(replied(text)).text == told


@pytest.mark.parametrize("hostile", GUARDED.values(), ids=GUARDED)
def test_no_text_keeps_a_guard_busy(hostile: tuple[str, str, str]) -> None:
    before, again, after = hostile
    text = before + again * (100_000 // len(again)) + after
    within(SECONDS, lambda: (Known((text,)).beyond(text), Passages().feed(text)))
