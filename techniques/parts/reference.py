"""A judge's view of an answer, beside one that is known to be right.

For evaluation only: an import rule keeps this away from techniques, which must not select by what
only the grader knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.checklist import Checklist, Question
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import shortened

_LONGEST: Final = 8000  # characters of a reference
_MOST_FACTS: Final = 3


@dataclass(frozen=True, slots=True)
class Reference:
    """A right answer, and at most three facts that make it so, the weightiest first."""

    answer: str
    facts: tuple[str, ...] = ()


def facts_request(aside: Aside, answer: str) -> Request:
    """Return the request that asks which facts make *answer*; once for all replies to compare."""
    shown = aside.fence.around("reference", shortened(answer, _LONGEST))
    return aside.request(_DISTILLING, _DISTIL, aside.conversation(), shown)


def read_facts(text: str) -> tuple[str, ...]:
    """Return the facts that a reply to ``facts_request`` lists; none if it is unusable."""
    facts = (read_object(text) or {}).get("facts")
    listed = facts if isinstance(facts, list) else []
    said = (fact.strip() for fact in listed if isinstance(fact, str))
    return tuple(fact for fact in said if fact)[:_MOST_FACTS]


def compared_request(aside: Aside, reply: Reply, reference: Reference) -> Request:
    """Return the request that asks to go through the checklist for *reply*, with *reference*."""
    text = "\n".join(_lines(reference))
    return COMPARED.request(aside, reply, aside.fence.around("reference", text))


def read_compared(text: str) -> float | None:
    """Return the score, 0 to 1, that a judge's reply amounts to; None if it is unusable."""
    filled = read_object(text)
    return None if filled is None else COMPARED.score(filled)


def _lines(reference: Reference) -> Iterator[str]:
    yield shortened(reference.answer, _LONGEST)
    for place, fact in enumerate(reference.facts[:_MOST_FACTS], 1):
        yield f"Key fact {place}: {fact}"


_QUESTIONS: Final = {
    "r01": Question(
        0.22, "Does it come to the same result as the reference, however worded? (never null)"
    ),
    "r02": Question(0.10, "Is it free of anything that the reference contradicts?"),
    "r03": Question(0.08, "Does it have key fact 1 of the reference? (null: none is listed)"),
    "r04": Question(0.08, "Does it have key fact 2? (null: it is not listed)"),
    "r05": Question(0.08, "Does it have key fact 3? (null: it is not listed)"),
    "r06": Question(0.06, "Is every part of the request dealt with? (null: it has one part)"),
    "r07": Question(
        0.07, "Are stated limits of length, form and language kept? (null: none are stated)"
    ),
    "r08": Question(0.08, "Is it free of statements that you know to be untrue?"),
    "r09": Question(
        0.05, "Are all sources, names, interfaces and quotations in it real? (null: it has none)"
    ),
    "r10": Question(
        0.06, "Does each step follow from those before? (null: no reasoning is needed)"
    ),
    "r11": Question(0.03, "Does it agree with itself from start to end?"),
    "r12": Question(
        0.04, "Do its calculations come out, would its code run? (null: it has neither)"
    ),
    "r13": Question(0.03, "Can a reader tell beyond doubt what its result is?"),
    "r14": Question(0.01, "Is it as deep as this request needs? It need not be as the reference."),
    "r15": Question(0.01, "Is it without repetition and filler?"),
}
_ACTIONS: Final = """\
The answer calls tools. For r01 ask whether it does what the reference does, order and spelling \
aside; for r09 whether every argument comes from the conversation."""
COMPARED: Final = Checklist("r01", _QUESTIONS, _ACTIONS)
"""What a judge is asked who has a right answer to compare with."""

_DISTIL: Final = """\
Below are a conversation and a right answer to its last request. Name the facts that any other \
answer must have to be right as well: at most three, the weightiest first, each in one short \
sentence that stands on its own. Style and examples are no such facts.
Reply with a JSON object only: {"facts": [...]}."""
_DISTILLING: Final = Purpose(
    "judge",
    400,
    object_schema({"facts": {"type": "array", "items": {"type": "string"}}}),
)
