"""Verifying: draft, ask apart for the facts it stands on, correct what they contradict."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, TypeVar

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.json import Json
from techniques.core.reply import Reply, replied
from techniques.core.request import Request
from techniques.parts.aside import Aside
from techniques.parts.critique import Finding
from techniques.parts.keys import keyed
from techniques.parts.mending import worth_mending
from techniques.parts.verification import (
    Fact,
    comparison_request,
    facts_told,
    plan_request,
    question_request,
    read_contradictions,
    read_fact,
    read_plan,
)
from techniques.phases.attempt import Attempt, progress
from techniques.phases.correcting import Correcting, correcting
from techniques.phases.drafting import Draft, drafted
from techniques.phases.single import collapsed
from techniques.phases.writing import Writing, written

T = TypeVar("T")

_BESIDE_QUESTIONS: Final = 3  # calls: the plan, the comparison, the writing
_LEAST_CALLS: Final = 2 + _BESIDE_QUESTIONS  # the draft and one question: with less there is none


@dataclass(frozen=True, slots=True)
class Verifying:
    """How to verify.

    Attributes:
        questions: The most questions.
        compare: The answers are compared with the draft first, and only what they contradict is
            corrected. Without, the draft is written again with all of them in view.
    """

    questions: int
    compare: bool = True


def verify(attempt: Attempt, settings: Verifying) -> AsyncGenerator[Event, None]:
    """Draft an answer, check what it claims, and commit it with what was contradicted corrected.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: There was no usable draft; the failure that tells most. Or the writing of the
            answer broke off after some of it was seen.
    """
    return _verify(attempt, settings) if attempt.enough(_LEAST_CALLS) else collapsed(attempt)


async def _verify(attempt: Attempt, settings: Verifying) -> AsyncGenerator[Event, None]:
    yield progress("drafting")
    checking = _Checking(attempt, settings, await drafted(attempt))
    if not checking.done:
        for event in attempt.improved(checking.draft):
            yield event
    stages = {
        "planning": checking.plan,
        "verifying": checking.find_out,
        "comparing": checking.compare,
    }
    for stage, step in stages.items():
        if not checking.done:
            yield progress(stage)
            await step()
    yield Note("verification", checking.result())
    writing = checking.writing()
    if writing is None:
        for event in attempt.committed(checking.draft):
            yield event
        return
    yield progress("writing")
    async with aclosing(written(attempt, writing)) as events:
        async for event in events:
            yield event


class _Checking:
    """A draft, and what is found out about it.

    Attributes:
        draft: The draft.
        done: There is no more to find out: it stays as it is.
    """

    def __init__(self, attempt: Attempt, settings: Verifying, draft: Draft) -> None:
        self._attempt = attempt
        self._settings = settings
        self._author = draft.member
        self._questions: Sequence[str] = ()
        self._facts: Sequence[Fact] = ()
        self._contradicted: Sequence[Finding] = ()
        self.draft = draft.reply
        self.done = draft.final or attempt.late or attempt.prefilled

    async def plan(self) -> None:
        """Find the questions to ask, as many as leave calls for what follows them."""
        if not self._attempt.affords(1 + _BESIDE_QUESTIONS):
            self.done = True
            return
        wanted = self._settings.questions
        most = self._attempt.affordable(wanted + _BESIDE_QUESTIONS) - _BESIDE_QUESTIONS
        said = await self._said(plan_request(self._aside("q0"), self.draft, most))
        self._questions = self._usable(read_plan(said, most), "q0")

    async def find_out(self) -> None:
        """Put the questions, all at once, to a model that does not see the draft."""
        calls = [
            Asking(self._verifier, question_request(self._aside(f"v{place}"), question))
            for place, question in enumerate(self._questions)
        ]
        outcomes = await self._attempt.ask(calls)
        answers = [read_fact(one.text) if isinstance(one, Reply) else None for one in outcomes]
        asked = zip(self._questions, answers, strict=True)
        self._facts = [Fact(question, answer) for question, answer in asked if answer]
        self.done = not self._facts or self._attempt.late

    async def compare(self) -> None:
        """Find what the answers contradict; without a comparison, all of them count as such."""
        if not self._settings.compare:
            self._contradicted = facts_told(self._facts)
        elif not self._attempt.affords(2):
            self.done = True
        else:
            said = await self._said(comparison_request(self._aside("x0"), self.draft, self._facts))
            found = self._usable(read_contradictions(said, self._facts), "x0")
            self._contradicted = worth_mending(found, self.draft.text, "prose")

    def writing(self) -> Writing | None:
        """Return the call that corrects the draft, None if it stays as it is.

        Where all that counts is one result, a judge must prefer it with the result corrected.
        """
        attempt = self._attempt
        how = Correcting("full" if keyed(attempt.expected.text) else "cheap")
        if self.done or not self._contradicted or not attempt.affords(how.calls):
            return None
        known = [self.draft, *(replied(fact.answer) for fact in self._facts)]
        return correcting(attempt, self._author, self._contradicted, known, how=how)

    def result(self) -> dict[str, Json]:
        """Return what there is to report."""
        return {
            "questions": len(self._questions),
            "answered": len(self._facts),
            "corrections": len(self._contradicted),
        }

    @property
    def _verifier(self) -> Member:
        return self._attempt.critic(self._author, other=True)

    def _aside(self, step: str) -> Aside:
        return self._attempt.aside(self._verifier, step)

    async def _said(self, request: Request) -> str:
        """Return what the verifier says to *request*, "" if it fails."""
        (outcome,) = await self._attempt.ask([Asking(self._verifier, request)])
        return outcome.text if isinstance(outcome, Reply) else ""

    def _usable(self, found: list[T] | None, step: str) -> list[T]:
        """Return what was *found*; the checking is done where that is nothing."""
        if found is None:
            self._attempt.warn("verification_unusable", step)
        self.done = not found or self._attempt.late
        return found or []
