"""From a question to its problem: the one place that decides what is right."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar

from gateway.upstream.simulated import arithmetic, choices, facts, stories
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Problem, numeric

_MARK = re.compile(
    r"final answer:|\banswer:|\bconfidence:|####|\\boxed|\b(?:last|final) line\b", re.IGNORECASE
)
_BREAK = re.compile(r"\n|(?<=[.?!]) ")
_LONGEST = 4000  # characters; of a longer text only the end is looked at
_CUES = 2  # at the end of a question: for the answer, and for how sure it is
taught: ContextVar[Callable[[str], Problem | None] | None] = ContextVar("taught", default=None)
"""What knows the problems in place of the solver, where real questions and answers are replayed."""

_HARDEST = 1.6
_EASIEST = 0.4


def solve(text: str) -> Problem | None:
    """Return the problem that *text* poses, None if its answer is not known."""
    known = taught.get()
    if known is not None:
        return known(text)
    question = without_cue(text[-_LONGEST:]).strip()
    return choices.find(question, _open) or _open(question)


def without_cue(text: str) -> str:
    """Return *text* without last sentences that ask for marked final lines."""
    for _ in range(_CUES):
        text = _without_last_cue(text)
    return text


def _without_last_cue(text: str) -> str:
    marks = list(_MARK.finditer(text))
    if not marks or "\n" in text[marks[-1].end() :].strip():
        return text
    breaks = [found.start() for found in _BREAK.finditer(text, 0, marks[-1].start())]
    return text[: breaks[-1]] if breaks else text


def answer(problem: Problem, error_rate: float, dice: Dice) -> str:
    """Return the answer that a model of that *error_rate* draws."""
    if problem.wrong and dice.happens("error", rate(problem.question, error_rate)):
        return dice.leaning("wrong", problem.wrong)
    return problem.answer


def rate(question: str, error_rate: float) -> float:
    """Return how often *question* is answered wrongly by a model of that *error_rate*."""
    hardness = Dice(question).fraction("hardness")
    return error_rate * (_EASIEST + (_HARDEST - _EASIEST) * hardness)


def _open(question: str) -> Problem | None:
    if (value := stories.find(question)) is not None:
        steps = "The story gives the amounts, and they are combined in the order it tells them."
        return numeric(question.strip(), value, steps)
    if found := arithmetic.find(question):
        expression, value = found
        shown = " ".join(expression.split())
        return numeric(question.strip(), value, f"The calculation to work out is {shown}.")
    return facts.find(question)
