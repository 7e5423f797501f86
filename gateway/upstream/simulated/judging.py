"""Plays judge, critic, voter and verifier: reads their case out of the prompt, errs as stated.

What is judged stands between ``<<tag name>>`` and ``<<end tag>>``, as ``techniques.parts`` writes
it; which verdict is wanted follows from the names of the fields that are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import orjson

from gateway.upstream.simulated import grading, solving, verifying
from gateway.upstream.simulated.asked import Asked
from gateway.upstream.simulated.case import Case
from gateway.upstream.simulated.dice import Dice
from gateway.upstream.simulated.pieces import Draft
from gateway.upstream.simulated.schema import instance
from gateway.upstream.simulated.settings import SimulatedModel
from techniques.core.json import Json, JsonObject

_OPENED = re.compile(r"<<(\w{6,64}) ([^<>\n]{1,60})>>\n")
_TURN = re.compile(r"^\[(system|developer|user|assistant|tool|tools offered)\]\n", re.MULTILINE)


class _Questions(NamedTuple):
    """A checklist of ``techniques.parts``: which of its questions are about what.

    ``reasoned``: only where something was reckoned. ``against``: a wrong result fails them.
    """

    gate: str
    not_applicable: frozenset[str]
    reasoned: frozenset[str]
    against: frozenset[str]


_UNAIDED: Final = _Questions(
    "n04",
    frozenset({"n02", "n03", "n06", "n07", "n14"}),
    frozenset({"n08", "n10"}),
    frozenset({"n04", "n05", "n10"}),
)
_WITH_REFERENCE: Final = _Questions(
    "r01",
    frozenset({"r03", "r04", "r05", "r06", "r09"}),
    frozenset({"r10", "r12"}),
    frozenset({"r01", "r02", "r08", "r12"}),
)
_TIES = 0.5
_BESIDE: Final = ("fact", "check")


def draft(asked: Asked, model: SimulatedModel, dice: Dice) -> Draft | None:
    """Return the verdict that *asked* wants, None if it wants none."""
    material = fenced(asked.last_user)
    answers = [text for name, text in material if name.startswith("answer")]
    if not material:
        return None
    wanted = asked.response_format.get("json_schema") or {}
    schema = wanted.get("schema")
    fields = set((schema or {}).get("properties") or ()) or _named(asked.last_user, material)
    judge = next((play for field, play in _ROLES.items() if field in fields), None)
    if judge is None or not (answers or judge is verifying.fact):
        return None
    beside = [text for name, text in material if name.startswith(_BESIDE)]
    verdict = judge(Case(asked_in(material), answers, model, dice, beside))
    return Draft(orjson.dumps(_shaped(verdict, schema, dice)).decode())


def fenced(text: str) -> list[tuple[str, str]]:
    """Return what *text* marks off as material: names and texts, in order."""
    found: list[tuple[str, str]] = []
    start = 0
    while opened := _OPENED.search(text, start):
        end = text.find(f"\n<<end {opened[1]}>>", opened.end())
        if end < 0:
            break
        found.append((opened[2], text[opened.end() : end]))
        start = end
    return found


def asked_in(material: list[tuple[str, str]]) -> str:
    """Return the last thing that a user asked in the conversation shown."""
    shown = dict(material)
    if "question" in shown:
        return shown["question"]
    parts = _TURN.split(shown.get("conversation", ""))
    turns = list(zip(parts[1::2], parts[2::2], strict=False))
    said = next((text for role, text in reversed(turns) if role == "user"), "")
    return said.strip()


def _named(prompt: str, material: list[tuple[str, str]]) -> set[str]:
    """Return the fields that *prompt* itself names outside the *material*, where no schema does."""
    for _, text in material:
        prompt = prompt.replace(text, "")
    return {field for field in _ROLES if re.search(rf"\b{field}\b", prompt)}


def _shaped(verdict: JsonObject, schema: Json, dice: Dice) -> Json:
    """Return *verdict* as *schema* wants it."""
    if schema is None:
        return verdict

    def suggest(name: str, _: JsonObject) -> list[Json]:
        nested = verdict.get("evidence") or {}
        return [source[name] for source in (verdict, nested) if name in source]

    return instance(schema, dice.fork("shape"), suggest)


def _checklist(case: Case) -> JsonObject:
    return _marks(case, _UNAIDED)


def _compared(case: Case) -> JsonObject:
    return _marks(case, _WITH_REFERENCE)


def _marks(case: Case, questions: _Questions) -> JsonObject:
    answer = case.answers[0]
    good = case.right(answer) != case.errs
    numeric = solving.solve(case.question) is not None
    marks: JsonObject = {}
    for name in (f"{questions.gate[0]}{at:02}" for at in range(1, 16)):
        if name in questions.not_applicable or (name in questions.reasoned and not numeric):
            marks[name] = None
        else:
            slips = case.dice.happens(f"slip {name}", 0.04) and name != questions.gate
            marks[name] = int((good or name not in questions.against) and not slips)
    marks["evidence"] = {
        name: "The result does not hold." if mark == 0 else None for name, mark in marks.items()
    }
    return marks


def _preference(case: Case) -> JsonObject:
    first, second = (case.right(answer) for answer in case.answers[:2])
    if first == second:
        tied = case.dice.happens("tie", _TIES)
        winner = "tie" if tied else case.dice.pick("either", ("1", "2"))
    else:
        winner = "1" if first != case.errs else "2"
    return {"winner": winner, "reason": "Its result is the more likely one."}


def _pick(case: Case) -> JsonObject:
    numbers = range(1, len(case.answers) + 1)
    right = [number for number in numbers if case.right(case.answers[number - 1])]
    wrong = [number for number in numbers if number not in right]
    wanted = (wrong or right) if case.errs else (right or wrong)
    return {"reason": "Its result holds.", "best": case.dice.pick("which", wanted)}


def _critique(case: Case) -> JsonObject:
    answer = case.answers[0]
    problem = solving.solve(case.question)
    if problem is None or case.right(answer) != case.errs:
        return {"decision": "stop", "issues": []}
    if case.right(answer):
        better = case.dice.leaning("false alarm", problem.wrong)
    else:
        better = solving.answer(problem, case.model.error_rate, case.dice.fork("own attempt"))
    quote = grading.conclusion(answer)
    issue = {"quote": quote, "kind": "wrong", "severity": "critical"}
    return {"decision": "continue", "issues": [issue | {"fix": f"The answer is {better}."}]}


def _labels(case: Case) -> JsonObject:
    groups: dict[str | None, int] = {}
    labels: list[Json] = []
    for answer in case.answers:
        key = grading.key(case.question, answer)
        labels.append(groups.setdefault(key, len(groups) + 1))
    if len(labels) > 1 and case.errs:
        at = case.dice.bits("which") % len(labels)
        labels[at] = case.dice.pick("whither", [*range(1, len(groups) + 2)])
    return {"labels": labels}


def _difficulty(case: Case) -> JsonObject:
    believed = case.right(case.answers[0]) != case.errs
    hard = 0.5 * case.dice.fraction("difficulty")
    return {"difficulty": round(hard if believed else 0.5 + hard, 2)}


_ROLES: Final[dict[str, Callable[[Case], JsonObject]]] = {
    "n04": _checklist,
    "r01": _compared,
    "winner": _preference,
    "best": _pick,
    "issues": _critique,
    "labels": _labels,
    "consistent": verifying.syndrome,
    "faults": verifying.check,
    "doubts": verifying.doubts,
    "questions": verifying.plan,
    "known": verifying.fact,
    "claims": verifying.claims,
    "difficulty": _difficulty,
}
"""By a field of what is asked for, or by the first of these words in what asks for it."""
