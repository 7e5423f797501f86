"""Finds out what is known of each answer of a vote, and lets the votes weigh by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from typing import Final

from techniques.core.channel import Member
from techniques.core.reply import Reply
from techniques.core.task import Calibration, Uncalibrated
from techniques.parts.candidates import Candidate
from techniques.parts.confidence import levelled
from techniques.parts.weights import COUNT, Rule, weights
from techniques.phases.attempt import Attempt
from techniques.phases.evidence import Source, SourceName, source
from techniques.phases.trust import EQUAL, Trust

_RANKS: Final = 1 / 3  # about as far as a model's confidences lie apart


@dataclass(slots=True)
class Weighing:
    """The weights of the votes of one attempt.

    Attributes:
        source: Where the evidence comes from.
        rule: How evidence becomes weight.
        scores: The evidence is a judge's, and not the model's own confidence.
        drawer: Tells who draws at a place, where differences between models are to be taken out.
        trust: What a vote of who draws at a place counts beside those of other models.
        odds: What a score makes of the odds of being right, where that was measured of the judge.
        calibration: What was measured of the models.
        evidence: What is known by place, None where nothing could be found out.
    """

    source: Source
    rule: Rule
    scores: bool = False
    drawer: Callable[[int], Member] | None = None
    trust: Callable[[int], float] = lambda _place: 1.0
    odds: Callable[[float], float | None] = lambda _score: None
    calibration: Calibration = field(default_factory=Uncalibrated)
    evidence: dict[int, float | None] = field(default_factory=dict)
    _exact: Rule = field(init=False)

    def __post_init__(self) -> None:
        self._exact = replace(self.rule, noise=0.0)

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
        return self._weighed(known, self._exact)

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
        levels = self.levels(candidates)
        measured = self._measured(levels) if self.scores else []
        weighing = measured or weights(levels, rule, answers)
        return [
            self._with(one, value, weight)
            for one, value, weight in zip(candidates, evidence, weighing, strict=True)
        ]

    def _measured(self, scores: Sequence[float | None]) -> list[float]:
        """Return what *scores* make of the odds; one that is missing weighs like the middle one.

        Empty where it was not measured.
        """
        told = [None if score is None else self.odds(score) for score in scores]
        known = [value for value in told if value is not None]
        return [median(known) if value is None else value for value in told] if known else []

    def _with(self, candidate: Candidate, value: float | None, weight: float) -> Candidate:
        """Return *candidate* with what is known of it.

        What its own evidence says of it multiplies the odds that its model is right.
        """
        trust = self.trust(candidate.place)
        weight *= trust
        if (trust, weight) != (candidate.trust, candidate.weight):
            candidate = replace(candidate, trust=trust, weight=weight)
        if value is None:
            return candidate
        if self.scores:
            return replace(candidate, score=value)
        return replace(candidate, sureness=value)


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
    judge = attempt.channels.judge or attempt.channels.primary
    calibration = attempt.task.calibration
    return Weighing(
        source(attempt, evidence, drawer),
        rule,
        scores=evidence == "judge",
        drawer=drawer if evidence == "response_probability" else None,
        trust=lambda place: known.of(drawer(place)),
        odds=partial(calibration.odds, judge.name, attempt.expected.text),
        calibration=calibration,
    )
