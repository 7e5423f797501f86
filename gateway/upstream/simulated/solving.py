"""From a question to its problem: the one place that decides what is right."""

from __future__ import annotations

import re

from gateway.upstream.simulated import arithmetic, choices, facts, stories
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Problem, numeric

_CUE = re.compile(
    r"[^\n.]*\b(?:final answer|answer:|####|\\boxed|last line|final line)[^\n]*\s*\Z", re.IGNORECASE
)
_HARDEST = 1.6
_EASIEST = 0.4


def solve(text: str) -> Problem | None:
    """Return the problem that *text* poses, None if its answer is not known."""
    question = _CUE.sub("", text).strip() or text
    return choices.find(question, _open) or _open(question)


def answer(problem: Problem, error_rate: float, dice: Dice) -> str:
    """Return the answer that a model of that *error_rate* draws."""
    hardness = Dice(problem.question).fraction("hardness")
    rate = error_rate * (_EASIEST + (_HARDEST - _EASIEST) * hardness)
    if problem.wrong and dice.happens("error", rate):
        return dice.leaning("wrong", problem.wrong)
    return problem.answer


def _open(question: str) -> Problem | None:
    if (value := stories.find(question)) is not None:
        steps = "The story gives the amounts, and they are combined in the order it tells them."
        return numeric(question.strip(), value, steps)
    if found := arithmetic.find(question):
        expression, value = found
        shown = " ".join(expression.split())
        return numeric(question.strip(), value, f"The calculation to work out is {shown}.")
    return facts.find(question)
