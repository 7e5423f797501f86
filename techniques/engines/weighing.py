"""Finds out what is known of each answer of a vote, and lets the votes weigh by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, Protocol, TypeAlias

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.core.task import Calibration, Uncalibrated
from techniques.engines.attempt import Attempt
from techniques.engines.judging import scored
from techniques.engines.trust import EQUAL, Trust
from techniques.parts.candidates import Candidate
from techniques.parts.confidence import (
    ASK,
    check_request,
    levelled,
    read_check,
    spoken,
    telling,
    token_sureness,
)
from techniques.parts.cue import cued
from techniques.parts.weights import COUNT, Rule, weights

SourceName: TypeAlias = Literal["none", "judge", "verbal_100", "response_probability", "p_true"]
Confidence: TypeAlias = Literal["verbal_100", "response_probability", "p_true"]

_RANKS: Final = 1 / 3  # about as far as a model's confidences lie apart
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


@dataclass(slots=True)
class Weighing:
    """The weights of the votes of one attempt.

    Attributes:
        source: Where the evidence comes from.
        rule: How evidence becomes weight.
        scores: The evidence is a judge's, and not the model's own confidence.
        drawer: Tells who draws at a place, where differences between models are to be taken out.
        trust: What a vote of who draws at a place counts beside those of other models.
        calibration: What was measured of the models.
        evidence: What is known by place, None where nothing could be found out.
    """

    source: Source
    rule: Rule
    scores: bool = False
    drawer: Callable[[int], Member] | None = None
    trust: Callable[[int], float] = lambda _place: 1.0
    calibration: Calibration = field(default_factory=Uncalibrated)
    evidence: dict[int, float | None] = field(default_factory=dict)

    @property
    def price(self) -> int:
        """How many calls an answer takes in all."""
        return 1 + self.source.price

    def read(self, place: int, reply: Reply) -> Reply:
        """Return *reply* as it is to be voted on, and remember what it tells of itself."""
        reply, found = self.source.read(reply)
        if not self.source.price:
            self.evidence[place] = found
        return reply

    async def find(self, candidates: Sequence[Candidate]) -> None:
        """Find out what is not known yet of *candidates*, if that takes calls."""
        missing = [one for one in candidates if one.place not in self.evidence]
        if missing and self.source.price:
            found = await self.source.find(missing)
            self.evidence |= {one.place: value for one, value in zip(missing, found, strict=True)}

    def tells(self, candidates: Sequence[Candidate]) -> bool:
        """Tell whether anything is known of any of *candidates*."""
        return any(self.evidence.get(one.place) is not None for one in candidates)

    def known(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return those of *candidates* whose evidence is in, weighed for stopping.

        No difference is put down to noise: how much of it is noise may look different after the
        next draw, and scores that are alike and low must not pass for a vote that is won.
        """
        known = [one for one in candidates if one.place in self.evidence]
        return self._weighed(known, replace(self.rule, noise=0.0))

    def weighed(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return *candidates* with their weights, and with what is known of them."""
        return self._weighed(candidates, self.rule)

    def levels(self, candidates: Sequence[Candidate]) -> list[float | None]:
        """Return what is known of each of *candidates*, differences between models taken out."""
        evidence = [self.evidence.get(one.place) for one in candidates]
        if self.drawer is None:
            return evidence
        told = {
            one.place: value
            for one, value in zip(candidates, evidence, strict=True)
            if value is not None
        }
        level = self._ranked(told) or levelled(
            told, {place: self.drawer(place).id for place in told}
        )
        return [level.get(one.place) for one in candidates]

    def _ranked(self, told: Mapping[int, float]) -> dict[int, float]:
        """Return how sure each answer is among all of its model, on the scale of confidences.

        Empty if not all models are measured.
        """
        assert self.drawer is not None
        ranks = {
            place: self.calibration.rank(self.drawer(place).name, value)
            for place, value in told.items()
        }
        known = {
            place: 1 - _RANKS * (1 - rank) for place, rank in ranks.items() if rank is not None
        }
        return known if len(known) == len(told) else {}

    def _weighed(self, candidates: Sequence[Candidate], rule: Rule) -> list[Candidate]:
        evidence = [self.evidence.get(one.place) for one in candidates]
        answers = len({one.key for one in candidates if one.key is not None})
        weighing = weights(self.levels(candidates), rule, answers)
        return [
            self._with(one, value, weight)
            for one, value, weight in zip(candidates, evidence, weighing, strict=True)
        ]

    def _with(self, candidate: Candidate, value: float | None, weight: float) -> Candidate:
        """Return *candidate* with what is known of it.

        What its own evidence says of it multiplies the odds that its model is right.
        """
        trust = self.trust(candidate.place)
        known = replace(candidate, trust=trust, weight=trust * weight)
        if value is None:
            return known
        return replace(known, score=value) if self.scores else replace(known, sureness=value)


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


def weighing_by(
    attempt: Attempt,
    evidence: SourceName,
    drawer: Callable[[int], Member],
    rule: Rule = COUNT,
    *,
    known: Trust = EQUAL,
) -> Weighing:
    """Return what lets votes weigh by *evidence*, and by what is *known* of the models.

    *drawer* tells who draws at a place.
    """
    return Weighing(
        source(attempt, evidence, drawer),
        rule,
        scores=evidence == "judge",
        drawer=drawer if evidence == "response_probability" else None,
        trust=lambda place: known.of(drawer(place)),
        calibration=attempt.task.calibration,
    )


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
