"""Refining: draft, find faults, mend them, and keep only a change for the better."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import Text
from techniques.engines.attempt import Attempt, progress
from techniques.engines.drafting import Draft, drafted, objected
from techniques.engines.judging import preferred, scored
from techniques.engines.single import collapsed
from techniques.parts.accept import better, unchanged
from techniques.parts.candidates import Candidate
from techniques.parts.critique import (
    Critique,
    Finding,
    correction,
    critique_request,
    patched,
    read_critique,
    worth_mending,
)

AcceptRule: TypeAlias = Literal["pairwise", "score", "off"]

_CALLS: Final[dict[AcceptRule, int]] = {"pairwise": 2, "score": 2, "off": 0}
_REJECTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Refining:
    """How to refine.

    Attributes:
        rounds: The most rounds.
        accept: What a revision must pass: be preferred in both orders, score clearly higher, or
            nothing.
        patch: Mend by replacing the passage at fault where that can be done.
    """

    rounds: int
    accept: AcceptRule
    patch: bool = True


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
    while work.goes_on():
        yield progress("critique", round=work.round, most=settings.rounds)
        findings = await work.findings()
        if not findings:
            break
        yield progress("refining", round=work.round, findings=len(findings))
        revision = await work.revised(findings)
        if revision is None:
            break
        yield progress("judging", round=work.round)
        accepted = await work.accepted(revision)
        yield Note("round", {"round": work.round, "accepted": accepted})
        work.settle(revision if accepted else None)
    yield Note("rounds", {"used": work.round, "accepted": work.changes})
    for event in attempt.committed(work.standing):
        yield event


@dataclass(slots=True)
class _Work:
    """The text that stands, and what has been done to it."""

    attempt: Attempt
    settings: Refining
    draft: Draft
    round: int = 0
    changes: int = 0
    rejected: int = 0
    standing: Reply = field(init=False)
    scores: list[float] = field(default_factory=list)
    revised_score: float | None = None
    earlier: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.standing = self.draft.reply

    def goes_on(self) -> bool:
        """Tell whether another round is wanted, and can be paid for to its end."""
        if self.draft.final or self.attempt.late or self.round == self.settings.rounds:
            return False
        if self.rejected == _REJECTIONS:
            return False
        return self.attempt.affords(2 + _CALLS[self.settings.accept])

    async def findings(self) -> list[Finding]:
        """Return the faults to mend; none where the critic sees none or cannot be understood."""
        critique = await self._critique(f"k{self.round}") or await self._again()
        if critique is None or critique.done:
            return []
        found = worth_mending(critique.findings, self.standing.text, self.earlier)
        self.earlier += found
        return found

    async def revised(self, findings: list[Finding]) -> Reply | None:
        """Return the text with *findings* mended, None if nothing usable or new came of it."""
        kind = self.attempt.expected.text
        text = patched(self.standing.text, findings, kind) if self.settings.patch else None
        if text is not None:
            revision: Reply | None = _with_text(self.standing, text)
        else:
            revision = await self._rewritten(findings)
        same = revision is not None and unchanged(self.standing.text, revision.text)
        return None if same else revision

    async def accepted(self, revision: Reply) -> bool:
        """Tell whether *revision* is better than what stands."""
        if self.settings.accept == "off":
            return True
        if self.settings.accept == "pairwise":
            step = f"p{self.round}"
            side = await preferred(self.attempt, self.standing, revision, step)
            return side == "second"
        if not self.scores:
            first = await self._score(self.standing, "s")
            self.scores = [] if first is None else [first]
        self.revised_score = await self._score(revision, "t") if self.scores else None
        return better(self.revised_score, self.scores)

    def settle(self, revision: Reply | None) -> None:
        """End a round, with the *revision* that was accepted or with none."""
        self.round += 1
        if revision is None:
            self.rejected += 1
            return
        self.rejected = 0
        self.changes += 1
        self.standing = revision
        self.scores = [] if self.revised_score is None else [self.revised_score]

    async def _critique(self, step: str) -> Critique | None:
        critic = self.attempt.critic()
        request = critique_request(self.attempt.aside(critic, step), self.standing)
        (outcome,) = await self.attempt.ask([Asking(critic, request)])
        return read_critique(outcome.text) if isinstance(outcome, Reply) else None

    async def _again(self) -> Critique | None:
        if not self.attempt.affords(2 + _CALLS[self.settings.accept]):
            return None
        critique = await self._critique(f"kr{self.round}")
        if critique is None:
            self.attempt.warn("critique_unusable", f"k{self.round}")
        return critique

    async def _rewritten(self, findings: list[Finding]) -> Reply | None:
        request = objected(self.attempt.request, self.standing, correction(findings))
        request = replace(request, stream=False, role="refine", step=f"r{self.round}")
        (outcome,) = await self.attempt.ask([Asking(self.draft.member, request)])
        draw = self.attempt.sift(self.round, outcome)
        if not isinstance(draw, Candidate) or draw.refusal or draw.reply.tool_calls:
            return None
        return draw.reply

    async def _score(self, reply: Reply, unit: str) -> float | None:
        (candidate,) = await scored(self.attempt, [Candidate(self.round, reply)], unit)
        return candidate.score


def _with_text(reply: Reply, text: str) -> Reply:
    """Return *reply* with *text* in place of all its text; token log-probabilities are gone."""
    kept = tuple(part for part in reply.parts if not isinstance(part, Text))
    return replace(reply, parts=(*kept, Text(text)), logprobs=None)
