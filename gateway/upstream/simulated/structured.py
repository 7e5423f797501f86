"""Answers in JSON: the solved answer in the fields that seem to ask for it."""

from __future__ import annotations

import re
from typing import Final

import orjson

from gateway.upstream.simulated import prose, revising, solving
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.schema import instance
from gateway.upstream.simulated.settings import SimulatedModel
from techniques.core.json import Json, JsonObject

_ANSWERS: Final = frozenset(
    {"answer", "result", "value", "solution", "output", "total", "sum", "number", "choice"}
    | {"letter", "option", "city", "capital", "country", "symbol", "planet", "name", "final"}
)
_REASONS: Final = frozenset({"explanation", "reasoning", "reason", "steps", "rationale", "thought"})
_TOPICS: Final = frozenset({"topic", "title", "summary", "text", "description", "subject"})


def draft(asked: Asked, schema: Json, model: SimulatedModel, dice: Dice) -> Draft:
    """Return an answer that *schema* allows; any object if it is None."""
    about = revising.question(asked)
    question = solving.without_cue(about.text)
    problem = solving.solve(question)
    if problem is None:
        known, steps, sure = [], [prose.stock(question, dice)], True
    else:
        answer = revising.answer(about, problem, model, dice)
        known, steps, sure = readings(answer), [problem.steps], answer == problem.answer
    topics: list[Json] = [prose.topic(question)]

    def suggest(name: str, field: JsonObject) -> list[Json]:
        words = set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))
        if words & _REASONS:
            return list(steps)
        if words & _ANSWERS or (not words and "enum" in field):
            return known
        return topics if words & _TOPICS else _named(field, question)

    if schema is None:
        plain = {"answer": known[0] if known else prose.topic(question), "explanation": steps[0]}
        return Draft(orjson.dumps(plain).decode(), sure=sure)
    made = instance(schema, dice.fork("instance"), suggest)
    return Draft(orjson.dumps(made).decode(), sure=sure)


def readings(answer: str) -> list[Json]:
    """Return what *answer* may be in JSON: a number, a truth value, a text."""
    if re.fullmatch(r"-?\d+", answer) and len(answer) < 16:
        return [int(answer), answer]
    if re.fullmatch(r"-?\d+\.\d+", answer):
        return [float(answer), answer]
    truth: list[Json] = [answer == "Yes"] if answer in {"Yes", "No"} else []
    return [*truth, answer, answer.lower()]


def _named(field: JsonObject, question: str) -> list[Json]:
    """Return the enum values that the question names."""
    lower = question.lower()
    options = field.get("enum") or ()
    return [o for o in options if isinstance(o, str) and o and o.lower() in lower]
