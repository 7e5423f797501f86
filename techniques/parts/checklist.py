"""Small questions about an answer, weighed, one of which decides: how a judge is asked them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from techniques.core.json import Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.structured import object_schema
from techniques.parts.transcript import answer_shown

_MOST_TOKENS: Final = 700
_LEAST_ANSWERED: Final = 9
_GATED: Final = 0.40  # the most that an answer wrong at its core can score


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a checklist: what is asked, and what it weighs."""

    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Checklist:
    """Questions by name, their weights adding up to 1; an answer that fails ``gate`` is wrong.

    ``actions`` says what some of them mean for an answer that calls tools.
    """

    gate: str
    questions: Mapping[str, Question]
    actions: str

    def request(self, aside: Aside, reply: Reply, *material: str) -> Request:
        """Return the request that asks to go through the questions for *reply*.

        The judge sees the whole conversation, *material* and the answer; not who gave it, nor
        other answers.
        """
        questions = "\n".join(f"{name}: {one.text}" for name, one in self.questions.items())
        tools = (self.actions,) if reply.tool_calls else ()
        answer = aside.fence.around("answer", answer_shown(reply))
        passages = (_CHECK, questions, *tools, _FORM, aside.conversation(), *material, answer)
        return aside.request(self._purpose(), *passages)

    def score(self, filled: JsonObject) -> float | None:
        """Return the score, 0 to 1, that a *filled* checklist amounts to.

        None if it does not answer the gate and at least nine questions.
        """
        given = {
            name: filled[name]
            for name in self.questions
            if name in filled and _is_mark(filled[name])
        }
        if len(given) < _LEAST_ANSWERED or given.get(self.gate) is None:
            return None
        counted = {name: bool(mark) for name, mark in given.items() if mark is not None}
        total = sum(self.questions[name].weight for name in counted)
        score = sum(self.questions[name].weight for name, yes in counted.items() if yes) / total
        return score if counted[self.gate] else min(score, _GATED)

    def _purpose(self) -> Purpose:
        evidence = object_schema(dict.fromkeys(self.questions, _WORDS))
        marks: JsonObject = dict.fromkeys(self.questions, _MARK)
        return Purpose("judge", _MOST_TOKENS, object_schema({**marks, "evidence": evidence}))


def _is_mark(value: Json) -> bool:
    return value is None or (isinstance(value, int) and value in {0, 1})


_CHECK: Final = """\
You check one answer that an assistant gave in a conversation. Work the task out for yourself \
first, then go through the questions below, each on its own. Length and layout earn nothing."""
_FORM: Final = """\
Reply with a JSON object only: for each question its name with 1 for yes, 0 for no, or null where \
the question says when; and under "evidence" an object with at most 15 words for each 0."""

_MARK: Final = {"type": ["integer", "null"], "enum": [0, 1, None]}
_WORDS: Final = {"type": ["string", "null"]}
