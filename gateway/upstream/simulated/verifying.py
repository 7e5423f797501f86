"""Plays who checks an answer: asks for its facts, finds them out, and compares."""

from __future__ import annotations

from gateway.upstream.simulated import grading, solving
from gateway.upstream.simulated.case import Case
from techniques.core.json import JsonObject


def plan(case: Case) -> JsonObject:
    """Return the questions that test an answer: its own again, where the model knows about it."""
    problem = solving.solve(case.question)
    return {"questions": [] if problem is None else [problem.question]}


def fact(case: Case) -> JsonObject:
    """Return what the model takes for the answer to a question, if it knows about it."""
    result = _own(case)
    return {"known": result is not None, "answer": f"The answer is {result}." if result else ""}


def claims(case: Case) -> JsonObject:
    """Return what each fact says of the answer; a model that errs sees no contradiction."""
    answer = case.answers[0]
    said = []
    for place, told in enumerate(case.beside, 1):
        against = _differ(case, told) and not case.errs
        said.append(
            {
                "claim": grading.conclusion(answer),
                "fact": place,
                "verdict": "contradicted" if against else "supported",
                "correction": grading.conclusion(told) if against else "",
            }
        )
    return {"claims": said}


def syndrome(case: Case) -> JsonObject:
    """Return where the answer is contradicted, and for the first such place who is right."""
    answer = case.answers[0]
    against = next((told for told in case.beside if _differ(case, told)), None)
    if against is None:
        return {"consistent": True, "conflicts": []}
    stays = case.right(answer) != case.errs
    passage, statement = _stated(against)
    conflict = {
        "claim": "The result.",
        "main": grading.conclusion(answer),
        "parity": passage,
        "resolution": "" if stays else statement,
    }
    return {"consistent": False, "conflicts": [conflict]}


def check(case: Case) -> JsonObject:
    """Return the result that the model comes to itself, and what that makes of the answer."""
    answer, result = case.answers[0], _own(case)
    wrong = result is not None and _differ(case, f"The answer is {result}.")
    fault = {"quote": grading.conclusion(answer), "why": f"The answer is {result}."}
    return {"result": result or "", "faults": [fault] if wrong else []}


def doubts(case: Case) -> JsonObject:
    """Return how sure the model is of the answer's result."""
    sure = "high" if case.right(case.answers[0]) != case.errs else "low"
    return {"doubts": [{"claim": grading.conclusion(case.answers[0]), "sure": sure}]}


def _own(case: Case) -> str | None:
    problem = solving.solve(case.question)
    if problem is None:
        return None
    return solving.answer(problem, case.model.error_rate, case.dice.fork("own attempt"))


def _stated(told: str) -> tuple[str, str]:
    """Return the passage of *told* that gives its result, and a sentence that does."""
    value = grading.told(told)
    if value == told:
        return grading.conclusion(told), grading.conclusion(told)
    return value, f"The answer is {value}."


def _differ(case: Case, told: str) -> bool:
    """Tell whether *told* has another result than the answer; what has none has no other."""
    key = grading.key(case.question, told)
    return key not in {None, grading.key(case.question, case.answers[0])}
