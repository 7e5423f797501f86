"""Finds the question that a call is about, also where its last turn only wants an answer mended."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.upstream.simulated import solving
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.problem import Problem
from gateway.upstream.simulated.settings import SimulatedModel

_ABOUT_IT = re.compile(r"\byour (?:last |previous )?answer\b", re.IGNORECASE)
_MENDED = re.compile(
    r"\b(?:answer is|answer:) (?P<value>[^\n\"]+?)\.?$", re.IGNORECASE | re.MULTILINE
)
_RELUCTANCE = 0.5  # of its error rate: how often a model does not take a correction


@dataclass(frozen=True, slots=True)
class Question:
    """The text that asks, and what the last turn says the answer should rather be."""

    text: str
    correction: str | None = None


def question(asked: Asked) -> Question:
    """Return what *asked* is about."""
    users = [turn.text for turn in asked.turns if turn.role == "user"]
    last = users[-1] if users else ""
    answered = any(turn.role == "assistant" for turn in asked.turns)
    if len(users) < 2 or not answered or not _ABOUT_IT.search(last):
        return Question(last)
    earlier = next((text for text in reversed(users[:-1]) if not _ABOUT_IT.search(text)), last)
    mended = list(_MENDED.finditer(last))
    return Question(earlier, mended[-1]["value"] if mended else None)


def answer(asked: Question, problem: Problem, model: SimulatedModel, dice: Dice) -> str:
    """Return the answer that *model* draws, a correction taken up as a rule."""
    reluctant = dice.happens("reluctance", model.error_rate * _RELUCTANCE)
    if asked.correction in {problem.answer, *problem.wrong} and not reluctant:
        return str(asked.correction)
    return solving.answer(problem, model.error_rate, dice)
