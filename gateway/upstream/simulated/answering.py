"""Decides what kind of answer a call gets, and draws it."""

from __future__ import annotations

from gateway.upstream.simulated import (
    calling,
    coding,
    combining,
    doubting,
    judging,
    prose,
    recording,
    revising,
    solving,
    structured,
)
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.settings import SimulatedModel


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft:
    """Return one answer to *asked*, before stop texts and limits are applied."""
    return (
        calling.after_results(asked, dice)
        or doubting.draft(asked, model, dice)
        or combining.draft(asked, model, dice)
        or recording.draft(asked, model, dice)
        or judging.draft(asked, model, dice)
        or calling.draft(asked, model, dice)
        or _in_json(asked, model, dice)
        or _in_words(asked, model, dice)
    )


def _in_json(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    kind = asked.response_format.get("type")
    if kind == "json_schema":
        wanted = asked.response_format.get("json_schema") or {}
        return structured.draft(asked, wanted.get("schema") or {}, model, dice)
    return structured.draft(asked, None, model, dice) if kind == "json_object" else None


def _in_words(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft:
    question = revising.question(asked)
    program = coding.draft(question.text, model, dice)
    if program is not None:
        return program
    problem = solving.solve(question.text)
    if problem is None:
        text = prose.stock(solving.without_cue(question.text), dice)
        return Draft(doubting.stated(text, asked.last_user, dice, sure=True))
    answer = revising.answer(question, problem, model, dice)
    text = prose.explained(problem, answer, asked.everything, dice)
    sure = answer == problem.answer
    return Draft(doubting.stated(text, asked.last_user, dice, sure=sure), sure=sure)
