"""Where it can be found out how good an answer is: its words, its tokens, a question, a judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeAlias

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.candidates import Candidate
from techniques.parts.confidence import (
    ASK,
    check_request,
    read_check,
    spoken,
    telling,
    token_sureness,
)
from techniques.parts.cue import cued
from techniques.phases.attempt import Attempt
from techniques.phases.judging import scored

SourceName: TypeAlias = Literal["none", "judge", "verbal_100", "response_probability", "p_true"]
Confidence: TypeAlias = Literal["verbal_100", "response_probability", "p_true"]

_WORDLESS: Final = frozenset({"tool", "json", "code"})  # a further line would break these


class Source(Protocol):
    """Where the evidence for an answer comes from.

    ``price`` is how many calls it takes for each answer, beside the one that drew it.
    """

    price: int

    def fit(self, request: Request, member: Member) -> Request:
        """Return the *request* of a draw so that its reply tells what is wanted."""
        ...

    def read(self, reply: Reply) -> tuple[Reply, float | None]:
        """Return *reply* as it is to be voted on and shown, and the evidence in it, 0 to 1."""
        ...

    async def find(self, candidates: Sequence[Candidate]) -> Sequence[float | None]:
        """Return the evidence for each of *candidates*; only asked with a ``price``."""
        ...


def confidence_source(
    attempt: Attempt, wanted: Confidence | Literal["auto"], members: Sequence[Member]
) -> SourceName:
    """Return what can tell how sure *members* are, *wanted* if it can; else warn."""
    tells = any(member.capabilities.logprobs for member in members)
    speaks = attempt.expected.free and attempt.expected.kind not in _WORDLESS
    possible: list[SourceName] = ["p_true", "response_probability"] if tells else []
    if speaks:
        possible.append("verbal_100")
    unset: SourceName = next(iter(possible[:1] if wanted == "auto" else possible[-1:]), "none")
    used = next((name for name in possible if name == wanted), unset)
    if used == "none":
        attempt.warn("confidence_unavailable", "Each answer counts the same.")
    elif wanted not in {used, "auto"}:
        attempt.warn("confidence_source_changed", f"{wanted} -> {used}")
    return used


def source(attempt: Attempt, name: SourceName, drawer: Callable[[int], Member]) -> Source:
    """Return the source of that *name*; *drawer* tells who draws at a place."""
    match name:
        case "judge":
            return _Judge(attempt)
        case "verbal_100":
            return _Words()
        case "response_probability":
            return _Tokens(keeps=attempt.request.sampling.logprobs)
        case "p_true":
            return _Check(attempt, drawer)
        case _:
            return _Nothing()


class _Nothing:
    """No evidence: every vote is as good as another."""

    price = 0

    def fit(self, request: Request, member: Member) -> Request:
        """Return *request* as it is; *member* does not matter."""
        del member
        return request

    def read(self, reply: Reply) -> tuple[Reply, float | None]:
        """Return *reply* as it is, and nothing."""
        return reply, None

    async def find(self, candidates: Sequence[Candidate]) -> Sequence[float | None]:
        """Return nothing for each of *candidates*."""
        return [None] * len(candidates)


class _Words(_Nothing):
    """The model states how sure it is, in a line that nobody else sees."""

    def fit(self, request: Request, member: Member) -> Request:
        """Return *request* with the wish for that line; any *member* can write it."""
        del member
        return cued(request, ASK)

    def read(self, reply: Reply) -> tuple[Reply, float | None]:
        """Take the line out of *reply*."""
        return spoken(reply)


@dataclass(frozen=True)
class _Tokens(_Nothing):
    """How likely the model found its own words; the client sees that if it *keeps* it."""

    keeps: bool

    def fit(self, request: Request, member: Member) -> Request:
        """Return *request* with the wish for log-probabilities, if *member* has any."""
        return telling(request, member)

    def read(self, reply: Reply) -> tuple[Reply, float | None]:
        """Take log-probabilities that the client did not ask for out of *reply*."""
        return reply if self.keeps else replace(reply, logprobs=None), token_sureness(reply)


@dataclass(frozen=True)
class _Check(_Nothing):
    """The model that gave an answer is asked whether it is right."""

    attempt: Attempt
    drawer: Callable[[int], Member]
    price = 1

    async def find(self, candidates: Sequence[Candidate]) -> Sequence[float | None]:
        """Ask for each of *candidates* that has a vote, of the models that can tell."""
        asked = [one for one in candidates if self._worth_asking(one)]
        if not asked or not self.attempt.affords(len(asked)):
            return await super().find(candidates)
        outcomes = await self.attempt.ask([self._asking(one) for one in asked])
        told = {
            one.place: read_check(outcome)
            for one, outcome in zip(asked, outcomes, strict=True)
            if isinstance(outcome, Reply)
        }
        return [told.get(one.place) for one in candidates]

    def _worth_asking(self, candidate: Candidate) -> bool:
        told = self.drawer(candidate.place).capabilities.logprobs
        return told and candidate.key is not None and not candidate.refusal

    def _asking(self, candidate: Candidate) -> Asking:
        member = self.drawer(candidate.place)
        step = f"t{candidate.place}"
        return Asking(member, check_request(self.attempt.request, candidate.reply, member, step))


@dataclass(frozen=True)
class _Judge(_Nothing):
    """A judge scores each answer."""

    attempt: Attempt
    price = 1

    async def find(self, candidates: Sequence[Candidate]) -> Sequence[float | None]:
        """Have *candidates* scored, except for those that decline."""
        judged = await scored(self.attempt, [one for one in candidates if not one.refusal], "j")
        scores = {one.place: one.score for one in judged}
        return [scores.get(one.place) for one in candidates]
