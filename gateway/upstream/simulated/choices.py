"""Multiple-choice questions: the options, and which of them is right."""

from __future__ import annotations

import re
from collections.abc import Callable

from gateway.upstream.simulated import arithmetic
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Problem

_LINE = re.compile(r"^\s*\(?([A-H])[).:]\s*(\S.*?)\s*$", re.M)
_INLINE = re.compile(r"(?:^|(?<=[\s,;(]))\(?([A-H])\)\s*(\S.*?)(?=[\s,;]+\(?[A-H]\)|\s*$)", re.M)

Solver = Callable[[str], Problem | None]


def find(text: str, solve: Solver) -> Problem | None:
    """Return the multiple-choice problem in *text*, None if there is none.

    *solve* answers the question without its options; where it cannot, a hash of the question
    decides which option counts as right.
    """
    options, start = _options(text)
    if not options:
        return None
    stem = text[:start].strip()
    letters = list(options)
    answer = _matching(options, solve(stem)) or _true_claim(options)
    if answer is None:
        answer = Dice(stem, *options.values()).pick("right", letters)
    wrong = sorted((x for x in letters if x != answer), key=lambda x: Dice(stem, x).bits(""))
    steps = f"The {len(letters)} options exclude each other, so each is compared with the question."
    return Problem("letter", text.strip(), answer, tuple(wrong), steps)


def _options(text: str) -> tuple[dict[str, str], int]:
    for pattern in (_LINE, _INLINE):
        found: dict[str, str] = {}
        start = 0
        for match in pattern.finditer(text):
            if match[1] == "A":
                found, start = {}, match.start()
            if match[1] == chr(ord("A") + len(found)):
                found[match[1]] = match[2]
        if len(found) >= 2:
            return found, start
    return {}, 0


def _matching(options: dict[str, str], problem: Problem | None) -> str | None:
    if problem is None:
        return None
    wanted = _plain(problem.answer)
    return next((letter for letter, text in options.items() if _plain(text) == wanted), None)


def _true_claim(options: dict[str, str]) -> str | None:
    """Return the one option that is a true equation, None if not exactly one is."""
    true = []
    for letter, text in options.items():
        left, equals, right = text.partition("=")
        value = arithmetic.evaluate(left) if equals else None
        if value is not None and str(value) == right.strip():
            true.append(letter)
    return true[0] if len(true) == 1 else None


def _plain(text: str) -> str:
    value = text.strip().strip(".").replace(",", "").replace("\u2212", "-").lower()
    return re.sub(r"^(?:the|an?) ", "", value)
