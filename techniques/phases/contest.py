"""Draws answers wave after wave, finds out what each is worth, and tells when there are enough."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from techniques.core.events import Event
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.agree import comparable, contenders, elect
from techniques.parts.candidates import Candidate, declined, failure, tally, usable
from techniques.parts.cue import NO_LINE, LastLine
from techniques.parts.keys import key_of
from techniques.parts.programs import Suite
from techniques.parts.sampling import Temperatures
from techniques.parts.stopping import SCORE_NOISE, enough, next_wave
from techniques.parts.weights import COUNT, Rule
from techniques.phases.attempt import Attempt, progress
from techniques.phases.drawing import Drawing
from techniques.phases.evidence import SourceName
from techniques.phases.trial import Trials, sound
from techniques.phases.trust import trust
from techniques.phases.weighing import weighing_by

_PATIENCE: Final = 3


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms answers are drawn.

    Attributes:
        samples: The most draws.
        temperature: That of all draws but the first; None to draw all as the client asks.
        stop_at: A score that is good enough.
        price: What a further draw and its score cost, in plain calls, against what it is expected
            to gain; None to go on regardless.
        noise: The least that scores are taken to differ, for that.
        turns: From which draw on the models of the pool take turns, from the second on if it is
            not the first draw; None for the first model alone.
        first: How many draws to make at once at first.
        wave: How many to make at once from then on.
        sparing: Nothing is asked about answers that can be compared exactly, they are voted on. No
            more are drawn at once than could be enough, and none after a run of lost draws.
        evidence: What tells how good an answer is.
        rule: How that becomes the weight of a vote.
        sure: How sure of the majority to be before a vote stops, None for quite sure.
        line: The last line that is asked for.
        tests: What an answer's program must pass; nothing else is then asked of it.
    """

    samples: int
    temperature: Temperatures
    stop_at: float = math.inf
    price: float | None = None
    noise: float = SCORE_NOISE
    turns: int | None = None
    first: int = 2
    wave: int = 2
    sparing: bool = False
    evidence: SourceName = "judge"
    rule: Rule = COUNT
    sure: float | None = None
    line: LastLine = NO_LINE
    tests: Suite | None = None


class Contest:
    """The draws of one attempt, and what is known of them."""

    def __init__(self, attempt: Attempt, terms: Terms) -> None:
        everyone, after = terms.turns is not None, terms.turns or 0
        drawer = partial(attempt.drawer, everyone=everyone, after=after)
        self._attempt = attempt
        self._terms = terms
        self._scores: dict[int, float | None] = {}
        self._sound: dict[int, bool] = {}
        self.trials = Trials(attempt, terms.tests)
        known = trust(attempt, attempt.channels.pool if everyone else ())
        self.weighing = weighing_by(attempt, terms.evidence, drawer, terms.rule, known=known)
        self.drawing = Drawing(
            attempt,
            terms.line.wanted(attempt.request),
            attempt.spread(terms.temperature),
            terms.samples,
            drawer,
            self.weighing.trust if known.counts else None,
            patience=_PATIENCE if terms.sparing else None,
            fit=self.weighing.source.fit,
            read=self.weighing.read,
        )

    async def run(self) -> AsyncGenerator[Event, None]:
        """Draw until there are enough answers, and yield how it gets on."""
        while count := self._next_wave():
            yield progress("sampling", done=len(self.drawing.draws), most=self._terms.samples)
            await self.drawing.wave(count, self._decided)
            self._learn()
            for event in self._attempt.improved(self.standing()):
                yield event
            if self.tested:
                yield progress("testing", answers=len(self._unknown()))
                await self.trials.run(self._unknown())
            if self.price > 1:
                yield progress("judging", answers=len(self._unknown()))
                await self.weighing.find(self._unknown())
            self._learn()
            for event in self._attempt.improved(self.standing()):
                yield event

    @property
    def measured(self) -> bool:
        """Whether it was measured how often the judge's scores, and the models, are right."""
        known = self.drawing.trust is not None and self.weighing.scores
        return known and self.weighing.odds(1.0) is not None

    @property
    def tested(self) -> bool:
        """Whether tests tell how good an answer is."""
        return self.trials.tests is not None

    def found(self) -> list[Candidate]:
        """Return the usable answers with what is known of them, best first.

        Raises:
            GatewayError: There is none; the failure that tells most.
        """
        draws = self.drawing.draws
        candidates = usable(draws, strict=self._attempt.checks.strict)
        if not candidates:
            raise failure(draws)
        return self._ranked(self.weighing.weighed(candidates))

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """Return the one of *candidates*, at least one, that would be the answer now.

        Where nothing is known of any it is what most agree on.
        """
        ranked = self._ranked(candidates)
        if self.tested or (self.score(ranked[0]) is not None and not self.compared):
            return ranked[0]
        return elect(contenders(ranked), self._attempt.expected).chosen

    def accepted(self) -> Candidate | None:
        """Return the best answer if it is good enough by its score."""
        best = next(iter(self._ranked(self._answers())), None)
        score = None if best is None else self.score(best)
        return best if score is not None and score >= self._terms.stop_at else None

    def standing(self) -> Reply | None:
        """Return what would be answered if nothing more came, None if nothing would."""
        refusal, candidates = declined(self.drawing.draws), self.drawing.candidates
        if refusal is not None or not candidates:
            return refusal
        return self._terms.line.without(self.best(self.weighing.weighed(candidates)).reply)

    def others(self, answer: Reply) -> list[Reply]:
        """Return the replies that answer otherwise than *answer* and each other, best first.

        To act and to answer are no two answers to one question, and to decline is none.
        """
        told = {_told(key_of(answer, self._attempt.expected), answer)}
        replies = []
        for candidate in self.found():
            alike = bool(candidate.reply.tool_calls) == bool(answer.tool_calls)
            answers = _told(candidate.key, candidate.reply)
            if alike and not candidate.refusal and answers not in told:
                told.add(answers)
                replies.append(self._terms.line.without(candidate.reply))
        return replies

    def score(self, candidate: Candidate) -> float | None:
        """Return what is known of *candidate*, None if it is nothing."""
        return self._scores.get(candidate.place)

    def result(self) -> dict[str, Json]:
        """Return what there is to report."""
        scores = [self.score(one) for one in self._answers()]
        known = {"scores": scores, "unusable": scores.count(None)}
        return {
            **(self.trials.result() or known),
            "asked": self.drawing.asked,
            **tally(self.drawing.draws),
        }

    @property
    def compared(self) -> bool:
        """Whether answers are voted on, and nothing has to be asked about them."""
        voters = contenders(self.drawing.candidates) if self.drawing.candidates else []
        return self._terms.sparing and comparable(voters, self._attempt.expected)

    @property
    def price(self) -> int:
        """How many calls a draw takes, with finding out what it is worth."""
        return 1 if self.tested or self.compared else self.weighing.price

    def _learn(self) -> None:
        candidates = self.drawing.candidates
        levels = self.weighing.levels(candidates)
        self._scores = {one.place: level for one, level in zip(candidates, levels, strict=True)}
        for one in candidates:
            if one.place not in self._sound:
                self._sound[one.place] = sound(self._attempt, one.reply)

    def _next_wave(self) -> int:
        """Return how many draws to make next, 0 when there are enough."""
        count = min(self._wanted(), self.drawing.left)
        return self._attempt.room(count, self.price)

    def _wanted(self) -> int:
        numbers = [score for score in map(self.score, self._answers()) if score is not None]
        if self.drawing.asked == 0:
            return self._terms.first
        if self.tested:
            return 0 if self.trials.passed else self._terms.wave
        if numbers and not self.compared:
            return self._worth_drawing(numbers)
        lead = replace(self.drawing.lead(self._known()), left=self.drawing.left)
        return min(self._terms.wave, next_wave(lead, self._terms.sure))

    def _worth_drawing(self, numbers: Sequence[float]) -> int:
        terms = self._terms
        if enough(numbers, terms.stop_at, terms.price, terms.noise):
            return 0
        twice = None if terms.price is None else 2 * terms.price
        barely = enough(numbers, terms.stop_at, twice, terms.noise)
        return 1 if terms.sparing and barely else terms.wave

    def _decided(self) -> bool:
        return self.compared and self.drawing.lead(self._known()).decided

    def _known(self) -> list[Candidate]:
        """Return those that vote: all, or those of which is known what they are worth."""
        candidates = self.drawing.candidates
        asked = self.weighing.price > 1 and self.compared
        return candidates if asked else self.weighing.known(candidates)

    def _answers(self) -> list[Candidate]:
        """Return the candidates that do not decline, by place."""
        return [one for one in self.drawing.candidates if not one.refusal]

    def _unknown(self) -> list[Candidate]:
        """Return those of which is not known yet what they are worth."""
        known = self.trials.shares if self.tested else self.weighing.evidence
        return [one for one in self._answers() if one.place not in known]

    def _ranked(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        return sorted(candidates, key=self._rank)

    def _rank(self, candidate: Candidate) -> tuple[bool, bool, float, float, int]:
        """Rank by what is free and exact before all else, and what is unknown last."""
        score = self.score(candidate)
        return (
            candidate.refusal,
            not self._sound.get(candidate.place, True),
            -self.trials.share(candidate),
            1.0 if score is None else -self._worth(candidate, score),
            candidate.place,
        )

    def _worth(self, candidate: Candidate, score: float) -> float:
        """Return *score*; where models and judge are measured, what speaks for *candidate* in all.

        That is the weight of all who answer the same: a judge that errs so chooses neither a weak
        model's answer over that of a strong one, nor one answer over several that agree. Who gives
        no answer has none.
        """
        if not self.measured:
            return score
        known = self.weighing.weighed(self._answers())
        return sum(one.weight for one in known if one.key is not None and one.key == candidate.key)


def _told(key: str | None, reply: Reply) -> str:
    """Return what two replies that answer the same have in common."""
    return key or repr(reply.parts)
