"""No run of one sign, however it begins and ends, keeps a reader busy.

Each text opens a pattern, goes on with one thing for long, and then fails the pattern. What needs
the square of the length needs minutes for these.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import product
from typing import Final

import pytest

from techniques.core.reply import replied
from techniques.core.request import Request, said
from techniques.parts.answers import expect
from techniques.parts.category import Category
from techniques.parts.confidence import spoken
from techniques.parts.critique import Finding, read_critique
from techniques.parts.cue import uncued
from techniques.parts.features import features
from techniques.parts.judge import read_preference, read_score
from techniques.parts.keys import key_of
from techniques.parts.mending import worth_mending
from techniques.parts.novelty import Known
from techniques.parts.passages import Passages
from techniques.parts.programs import program_in, suite_in
from techniques.parts.refusals import abstains, refuses
from techniques.parts.variants import fitting

RUNS: Final = {
    "blanks": " ",
    "hard blanks": "\u00a0",
    "tabs": "\t",
    "returns": "\r",
    "lines": "\n",
    "blank lines": " \n",
    "mixed blanks": "\u00a0\n",
    "digits": "1",
    "numbers": "1 ",
    "commas": "1,",
    "dots": "1.",
    "slashes": "1/",
    "letters": "a",
    "words": "a ",
    "dotted": "a.",
    "backticks": "`",
    "waves": "~",
    "fences": "```\n",
    "braces": "{",
    "closing braces": "}",
    "quotes": '"',
    "apostrophes": "a'",
    "asterisks": "*",
    "items": "* ",
    "underscores": "_",
    "brackets": "(",
    "colons": ":",
    "tags": "<think>",
}
ANY_LENGTH: Final[dict[str, tuple[Callable[[str], object], tuple[str, ...]]]] = {
    "suite": (
        lambda text: suite_in(Request("", (said("user", text),))),
        ("", "```", "~~~", "assert ", ">>> ", "x\nassert f(1)\n```"),
    ),
    "program": (
        lambda text: program_in(replied(text)),
        ("", "```", "~~~", "``` python", "def ", "from ", "a", "x\n```py\n"),
    ),
    "score": (read_score, ("", ": 1", "score", "The final score is 1", ":", ": **1", '{"a":')),
    "preference": (read_preference, ("", '{"winner":', '{"winner": "1')),
    "refusal": (
        lambda text: (refuses(replied(text)), abstains(text)),
        ("", "sorry", "I can't", "i ", "it is hard", "I cannot create"),
    ),
    "length": (
        lambda text: fitting(("terse",), Request("", (said("user", text),))),
        ("", "a", "100", "in", "at", "step"),
    ),
    "features": (
        lambda text: features(Request("", (said("user", text),)), Category("qa", 0.0), None),
        ("", "1", "$", "1 *", "find the"),
    ),
    "mending": (
        lambda text: worth_mending([Finding(text, "wrong", "x", "major")], text, "prose"),
        ("", "a"),
    ),
    "critique": (read_critique, ("", '{"decision":', '{"issues": [')),
    "final line": (
        lambda text: uncued(replied(text)),
        ("", "Final answer", "Final answer:", "x\nFinal answer: 1\n", "1", "(Final answer: "),
    ),
    "confidence": (
        lambda text: spoken(replied(text)),
        ("", "Confidence", "Confidence:", "x\nConfidence: 1\n", "Confidence: 1", "(confidence:"),
    ),
    "claims": (
        lambda text: Known((text,)).beyond(f"1 {text}"),
        ("", "`", "Smith", "www.", "10.1234/"),
    ),
    "passages": (lambda text: Passages().feed(text), ("", "a.", "a")),
}
AT_ENDS: Final = (
    "", "A) x", "the answer", "the answer is", "answer:", "####", "is ", "not", "how many ", "Is ",
    "\\boxed{", "\\frac{1", "**", "1", "$", "SELECT ", "write ", "find the", "so", "yes",
)  # fmt: skip
QUESTIONS: Final = ("How many is 17 * 23?", "Is it? yes or no", "Which?\nA) 1\nB) 2", "Who is it?")
ENDS: Final = ("x", "`")
SECONDS: Final = 3.0  # for all the texts of a test, of which each needs a few thousandths


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(("reader", "starts"), ANY_LENGTH.values(), ids=ANY_LENGTH)
def test_no_run_keeps_a_reader_of_whole_texts_busy(
    reader: Callable[[str], object], starts: tuple[str, ...], run: str
) -> None:
    texts = [start + run * (20_000 // len(run)) + end for start, end in product(starts, ENDS)]
    began = time.thread_time()
    for text in texts:
        reader(text)
    assert time.thread_time() - began < SECONDS


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("start", AT_ENDS)
def test_no_run_keeps_a_reader_of_answers_and_questions_busy(start: str, run: str) -> None:
    texts = [start + run * ((7_980 - len(start)) // len(run)) + end for end in "x"]
    kinds = [expect(Request("", (said("user", question),))) for question in QUESTIONS]
    began = time.thread_time()
    for text in texts:
        expect(Request("", (said("user", text),)))
        for kind in kinds:
            key_of(replied(text), kind)
    assert time.thread_time() - began < SECONDS
