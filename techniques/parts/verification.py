"""Checks what an answer claims: questions to ask of it, answers without sight of it, a comparison.

Source: Dhuliawala et al. 2023, arXiv:2309.11495, section 3 (factored, factor and revise).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.critique import Finding
from techniques.parts.refusals import abstains
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import answer_shown, shortened

_MOST_READ: Final = 20  # claims
_LONGEST_QUESTION: Final = 500  # characters
_LONGEST_FACT: Final = 2_000


@dataclass(frozen=True, slots=True)
class Fact:
    """A question, and what was answered to it by who had not seen the draft."""

    question: str
    answer: str


def plan_request(aside: Aside, draft: Reply, most: int) -> Request:
    """Return the request for at most *most* questions that test what *draft* claims."""
    answer = aside.fence.around("answer", answer_shown(draft))
    return aside.request(_PLANNING, _PLAN.format(most=most), aside.conversation(), answer)


def read_plan(text: str, most: int) -> list[str] | None:
    """Return the questions of a plan, none twice; None if it cannot be read."""
    questions = (read_object(text) or {}).get("questions")
    if not isinstance(questions, list) or not all(isinstance(one, str) for one in questions):
        return None
    asked = (shortened(" ".join(one.split()), _LONGEST_QUESTION) for one in questions)
    return [one for one in dict.fromkeys(asked) if one][:most]


def question_request(aside: Aside, question: str) -> Request:
    """Return the request that puts *question* to a model that does not see the draft.

    It sees the conversation: what the user supplied counts for more than what a model remembers.
    """
    asked = aside.fence.around("question", question)
    return aside.request(_ANSWERING, _ANSWER, aside.conversation(), asked)


def read_fact(text: str) -> str | None:
    """Return what was answered to a question, None if that was not known."""
    said = read_object(text)
    answer = text if said is None else said.get("answer")
    if (said or {}).get("known") is False or not isinstance(answer, str):
        return None
    return None if abstains(answer) else shortened(answer.strip(), _LONGEST_FACT) or None


def comparison_request(aside: Aside, draft: Reply, facts: Sequence[Fact]) -> Request:
    """Return the request that asks where *facts* bear *draft* out, and where they contradict it."""
    answer = aside.fence.around("answer", answer_shown(draft))
    shown = (
        aside.fence.around(f"fact {place}", f"{fact.question}\n{fact.answer}")
        for place, fact in enumerate(facts, 1)
    )
    return aside.request(_COMPARING, _COMPARE, aside.conversation(), answer, *shown)


def read_contradictions(text: str, facts: Sequence[Fact]) -> list[Finding] | None:
    """Return the claims that a comparison says *facts* contradict; None if it cannot be read.

    Each must name the fact that contradicts it: what is only doubted overturns nothing.
    """
    claims = (read_object(text) or {}).get("claims")
    if not isinstance(claims, list):
        return None
    read = (_contradiction(claim, len(facts)) for claim in claims[:_MOST_READ])
    return [finding for finding in read if finding is not None]


def facts_told(facts: Sequence[Fact]) -> list[Finding]:
    """Return *facts* as something to mend by, where nobody compared them with the draft."""
    return [
        Finding("", "constraint", f"{_ASKED_APART} {fact.question} {fact.answer}", "major")
        for fact in facts
    ]


def _contradiction(claim: Json, facts: int) -> Finding | None:
    if not isinstance(claim, dict) or claim.get("verdict") != "contradicted":
        return None
    passage, fix, fact = claim.get("claim"), claim.get("correction"), claim.get("fact")
    if not isinstance(passage, str) or not isinstance(fix, str) or not fix.strip():
        return None
    if type(fact) is not int or not 1 <= fact <= facts:
        return None
    return Finding(passage, "wrong", fix, "major")


_PLAN: Final = """\
An assistant answered the last request of a conversation. Ask at most {most} questions that test \
the facts its answer stands on. Each tests one claim, makes sense to who has not seen the answer, \
and does not suggest what to reply: no yes-or-no questions. The claims that matter most, and are \
most easily wrong, come first. Opinions, fiction and style are not to be tested: if the answer \
claims no fact that could be wrong, ask nothing.
Reply with a JSON object only: {{"questions": ["...", ...]}}."""
_ANSWER: Final = """\
Answer the question below, and nothing else. Where the conversation supplies documents, data or \
tool results that bear on it, go by them; else by what you know for certain. If you cannot be \
sure, say that it is not known: a guess does harm here.
Reply with a JSON object only: {"known": true or false, "answer": "one or two sentences"}."""
_COMPARE: Final = """\
An assistant answered the last request of a conversation. Independently of that, some facts were \
found out. For each fact name the claim of the answer that it is about: the exact passage, word \
for word, the number of the fact, and whether the fact supports it, contradicts it, or leaves it \
unknown. Only what cannot both be true is contradicted. For a contradicted claim give what should \
stand in the passage's place, else "".
Reply with a JSON object only: {"claims": [{"claim": ..., "fact": ..., "verdict": "supported" | \
"contradicted" | "unknown", "correction": ...}]}."""
_ASKED_APART: Final = "Asked independently, and to be gone by where your answer says otherwise:"

_PLANNING: Final = Purpose(
    "plan",
    400,
    object_schema({"questions": {"type": "array", "items": {"type": "string"}}}),
    temperature=0.3,
)
_ANSWERING: Final = Purpose(
    "verification",
    400,
    object_schema({"known": {"type": "boolean"}, "answer": {"type": "string"}}),
    temperature=0.3,
)
_COMPARING: Final = Purpose(
    "crosscheck",
    1024,
    object_schema(
        {
            "claims": {
                "type": "array",
                "items": object_schema(
                    {
                        "claim": {"type": "string"},
                        "fact": {"type": "integer"},
                        "verdict": {
                            "type": "string",
                            "enum": ["supported", "contradicted", "unknown"],
                        },
                        "correction": {"type": "string"},
                    }
                ),
            }
        }
    ),
)
