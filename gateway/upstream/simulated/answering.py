"""Decides what kind of answer a call gets, and draws it."""

from __future__ import annotations

from gateway.upstream.simulated import prose, solving
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft:
    """Return one answer to *asked*, before stop texts and limits are applied."""
    question = asked.last_user
    problem = solving.solve(question)
    if problem is None:
        return Draft(prose.stock(question, dice))
    answer = solving.answer(problem, model.error_rate, dice)
    text = prose.explained(problem, answer, asked.everything, dice)
    return Draft(text, sure=answer == problem.answer)
