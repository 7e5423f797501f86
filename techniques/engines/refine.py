"""Refining: draft, find faults, mend them, and keep only a change for the better."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from techniques.core.events import Event, Note
from techniques.parts.accept import changed
from techniques.parts.critique import Finding
from techniques.phases.attempt import Attempt, progress
from techniques.phases.drafting import Draft, drafted
from techniques.phases.faultfinding import Critic, Faultfinding
from techniques.phases.incumbent import CALLS, AcceptRule, Incumbent
from techniques.phases.revising import Reviser, Revision
from techniques.phases.single import collapsed

Ended: TypeAlias = Literal[
    "final", "late", "caps", "unjudged", "unreadable", "lost",
    "good_enough", "tests_passed", "converged", "plateau", "rejected_twice", "rounds",
]  # fmt: skip
"""Why the rounds ended.

``final``: the draft acts, declines or was cut off. ``late``: at the deadline. ``unjudged``: no
judge could say how good the draft is. ``unreadable``: no critique could be read. ``lost``: no
usable revision came. ``converged``: there was nothing (more) to mend.
"""

_REJECTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Refining:
    """How to refine.

    Attributes:
        rounds: The most rounds after the draft.
        accept: What a revision must pass.
        looking: How faults are looked for.
        patch: Mend by replacing the passage at fault where that can be done.
        threshold: A score that is good enough. The draft is judged first; None: it is not.
        window: After so many accepted revisions in a row ...
        least: ... that each changed less than this share of the words, the rounds end; 0: never.
    """

    rounds: int
    accept: AcceptRule
    looking: Faultfinding
    patch: bool = True
    threshold: float | None = None
    window: int = 1
    least: float = 0.0


def refine(attempt: Attempt, settings: Refining) -> AsyncGenerator[Event, None]:
    """Draft an answer and mend it for some rounds; commit the last that was accepted.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: There was no usable draft; the failure that tells most.
    """
    return _refine(attempt, settings) if attempt.enough(2) else collapsed(attempt)


async def _refine(attempt: Attempt, settings: Refining) -> AsyncGenerator[Event, None]:
    yield progress("drafting")
    work = _Work(attempt, settings, await drafted(attempt))
    if work.goes_on(1 if settings.threshold else 0):
        for event in attempt.improved(work.standing.reply):
            yield event
        yield progress("weighing")
        await work.weigh_draft()
    while work.goes_on():
        for event in attempt.improved(work.standing.reply):
            yield event
        yield progress("critique", round=work.round, most=settings.rounds)
        findings = await work.findings()
        if not findings:
            break
        yield progress("refining", round=work.round, kept=len(findings), dropped=work.dropped)
        revision = await work.revision(findings)
        if revision is None:
            break
        yield progress("judging", round=work.round)
        yield await work.settled(revision)
    yield Note("rounds", {"used": work.round, "accepted": len(work.changes), "ended": work.ended})
    for event in attempt.committed(work.standing.reply):
        yield event


class _Work:
    """A draft on its way to the answer: what stands of it, and why it goes on or ends."""

    def __init__(self, attempt: Attempt, settings: Refining, draft: Draft) -> None:
        self._attempt = attempt
        self._settings = settings
        self._critic = Critic(attempt, settings.looking, draft.member)
        self._reviser = Reviser(attempt, draft.member, settings.patch)
        self._rejected = 0
        self.standing = Incumbent(attempt, settings.accept, draft.reply)
        self.round = 0
        self.changes: list[float] = []
        self.ended: Ended | None = "final" if draft.final else None

    def goes_on(self, more: int = 0) -> bool:
        """Tell whether another round is wanted, and can be paid for to its end.

        *more* are calls to be made before it.
        """
        self.ended = self.ended or self._end(more)
        return self.ended is None

    async def weigh_draft(self) -> None:
        """Find out whether the draft is good enough: by tests, else by a judge."""
        await self.standing.try_out()
        threshold = self._settings.threshold
        if self.standing.trial.passed:
            self.ended = "tests_passed"
        elif threshold is not None and not self.standing.trial.failed:
            score = await self.standing.judged(0)
            self.ended = self._without("unjudged") if score is None else self._good(score)

    @property
    def dropped(self) -> int:
        """How much of the last critique is not acted on."""
        return self._critic.dropped

    async def findings(self) -> Sequence[Finding]:
        """Return the faults to mend; none where there are none, or none can be understood."""
        found = await self._critic.findings(self.standing.reply, self.round, self._rest)
        known = self.standing.trial.findings()
        if found is None and not known:
            self.ended = self._without("unreadable")
            return ()
        found = [*known, *(found or ())]
        if not found:
            self.ended = "converged"
        return found

    async def revision(self, findings: Sequence[Finding]) -> Revision | None:
        """Return the text with *findings* mended, None if nothing usable or new came of it."""
        standing = self.standing.reply
        calls = CALLS[self._settings.accept]
        revision = await self._reviser.revision(standing, findings, self.round, calls)
        if revision is None:
            self.ended = self._without("lost")
        elif revision.reply.text.strip() == standing.text.strip():
            self.ended = "converged"
        return None if self.ended else revision

    async def settled(self, revision: Revision) -> Note:
        """End a round: let *revision* stand if it is better, and return what came of it."""
        before = self.standing.reply.text
        accepted = await self.standing.gives_way(revision.reply, self.round)
        self._critic.settle(accepted=accepted)
        note = Note("round", {"round": self.round, "accepted": accepted, "via": revision.via})
        self.round += 1
        self._rejected = 0 if accepted else self._rejected + 1
        if accepted:
            self.changes.append(changed(before, revision.reply.text))
            self.ended = self._reached()
        return note

    @property
    def _rest(self) -> int:
        """How many calls a round takes after its critique."""
        return 1 + CALLS[self._settings.accept]

    def _without(self, what: Ended) -> Ended:
        """Return why something did not come: *what* it is called, unless the time was up."""
        return "late" if self._attempt.late else what

    def _end(self, more: int) -> Ended | None:
        settings = self._settings
        lately = self.changes[-settings.window :]
        if self._attempt.late:
            return "late"
        if self._rejected == _REJECTIONS:
            return "rejected_twice"
        if self.round == settings.rounds:
            return "rounds"
        if len(lately) == settings.window and max(lately) < settings.least:
            return "plateau"
        return None if self._attempt.affords(more + 1 + self._rest) else "caps"

    def _reached(self) -> Ended | None:
        trial, scores = self.standing.trial, self.standing.scores
        if trial.passed:
            return "tests_passed"
        return self._good(scores[0]) if scores and not trial.failed else None

    def _good(self, score: float) -> Ended | None:
        threshold = self._settings.threshold
        return "good_enough" if threshold is not None and score >= threshold else None
