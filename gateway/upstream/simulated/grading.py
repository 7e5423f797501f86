"""Reads the result out of an answer, and tells whether it is the right one."""

from __future__ import annotations

import re

import orjson

from gateway.upstream.simulated import solving
from gateway.upstream.simulated.problem import Problem
from techniques.core.reply import Reply
from techniques.core.request import Text
from techniques.parts.answers import Expected
from techniques.parts.keys import key_of
from techniques.parts.markers import sentences


def is_right(question: str, answer: str) -> bool:
    """Tell whether *answer* gives the right result; where that is not known, it is taken for so."""
    problem = solving.solve(question)
    if problem is None:
        return True
    return _key(problem, answer) == _key(problem, problem.answer)


def key(question: str, answer: str) -> str | None:
    """Return what two answers with the same result share, None where there is no result."""
    problem = solving.solve(question)
    return None if problem is None else _key(problem, answer)


def conclusion(answer: str) -> str:
    """Return the passage of *answer* that states its result: the last sentence."""
    said = sentences(answer)
    return said[-1] if said else answer.strip()


def told(answer: str) -> str:
    """Return *answer*, or the field of it that holds the result if it is JSON."""
    if not answer.lstrip().startswith("{"):
        return answer
    try:
        fields = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return answer
    named = [fields[name] for name in fields if re.search(r"answer|result|value", name)]
    return str((named or list(fields.values()) or [""])[0])


def _key(problem: Problem, answer: str) -> str | None:
    options = dict.fromkeys((problem.answer, *problem.wrong), "")
    expected = Expected(problem.kind, problem.kind, options if problem.kind == "letter" else {})
    return key_of(Reply((Text(told(answer)),)), expected)
