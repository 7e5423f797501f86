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
from techniques.parts.judge import read_preference, read_score
from techniques.parts.programs import program_in, suite_in

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
}
ENDS: Final = ("x", "`", '"', "}")
SECONDS: Final = 1.0  # for all the texts of a test, of which each needs a few thousandths


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(("reader", "starts"), ANY_LENGTH.values(), ids=ANY_LENGTH)
def test_no_run_keeps_a_reader_of_whole_texts_busy(
    reader: Callable[[str], object], starts: tuple[str, ...], run: str
) -> None:
    texts = [start + run * (30_000 // len(run)) + end for start, end in product(starts, ENDS)]
    began = time.thread_time()
    for text in texts:
        reader(text)
    assert time.thread_time() - began < SECONDS
