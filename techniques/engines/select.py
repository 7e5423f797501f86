"""Selecting: draw, have each answer judged, commit the best, word for word."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from techniques.core.events import Event, Note
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.engines.attempt import Attempt, progress
from techniques.engines.drawing import Drawing
from techniques.engines.judging import preferred, scored
from techniques.engines.single import collapsed
from techniques.parts.agree import contenders, elect
from techniques.parts.candidates import Candidate, declined, failure, tally, usable
from techniques.parts.stopping import SCORE_NOISE, enough

_LEAST_CALLS: Final = 4  # two answers and their scores: with less there is nothing to select from


@dataclass(frozen=True, slots=True)
class Selecting:
    """How to select.

    Attributes:
        samples: The most draws.
        temperature: That of all draws but the first; None to draw all as the client asks.
        stop_at: A score that is good enough.
        price: What a further draw and its score cost, in plain calls, against what it is expected
            to gain; None to go on regardless.
        pairwise: Compare the best two side by side where their scores are as good as equal.
        everyone: Go round all models of the pool.
        wave: How many draws to make at once.
    """

    samples: int
    temperature: float | None
    stop_at: float
    price: float | None = 2.0
    pairwise: bool = True
    everyone: bool = False
    wave: int = 2


def select(attempt: Attempt, settings: Selecting) -> AsyncGenerator[Event, None]:
    """Draw answers in waves, have them judged, and commit the best.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most.
    """
    alone = settings.samples == 1 or not attempt.enough(_LEAST_CALLS)
    return collapsed(attempt) if alone else _select(attempt, settings)


async def _select(attempt: Attempt, settings: Selecting) -> AsyncGenerator[Event, None]:
    contest = _Contest(attempt, settings)
    while count := contest.next_wave():
        for event in attempt.improved(contest.standing()):
            yield event
        yield progress("sampling", done=len(contest.drawing.draws), most=settings.samples)
        fresh = await contest.draw(count)
        for event in attempt.improved(contest.standing()):
            yield event
        yield progress("judging", answers=len(fresh))
        await contest.judge(fresh)
    draws = contest.drawing.draws
    reply = declined(draws)
    if reply is None:
        chosen = await contest.best()
        reply = attempt.beside(chosen.reply, contest.others(chosen))
        yield Note("scores", contest.result(chosen))
    else:
        yield attempt.refused(draws)
    for event in attempt.committed(reply):
        yield event


class _Contest:
    """The draws of a selection, and their scores."""

    def __init__(self, attempt: Attempt, settings: Selecting) -> None:
        self._attempt = attempt
        self._settings = settings
        self._scores: dict[int, float | None] = {}
        self.drawing = Drawing(
            attempt,
            attempt.request,
            attempt.spread(settings.temperature),
            settings.samples,
            settings.everyone,
        )

    def next_wave(self) -> int:
        """Return how many draws to make next, 0 when there are enough."""
        if enough(self._numbers(), self._settings.stop_at, self._settings.price):
            return 0
        count = min(self._settings.wave, self.drawing.left)
        return self._attempt.affordable(2 * count) // 2  # each of them will want a score

    async def draw(self, count: int) -> list[Candidate]:
        """Make *count* draws and return the answers among them."""
        fresh = await self.drawing.wave(count, lambda: False)
        found = [draw for draw in fresh if isinstance(draw, Candidate) and not draw.refusal]
        return sorted(found, key=lambda candidate: candidate.place)

    async def judge(self, fresh: list[Candidate]) -> None:
        """Have *fresh* candidates scored."""
        for candidate in await scored(self._attempt, fresh, "j"):
            self._scores[candidate.place] = candidate.score

    def standing(self) -> Reply | None:
        """Return what would be answered if the selection ended now, None if nothing would."""
        draws, candidates = self.drawing.draws, self.drawing.candidates
        refusal = declined(draws)
        if refusal is not None or not candidates:
            return refusal
        return min(candidates, key=self._rank).reply

    async def best(self) -> Candidate:
        """Return the candidate to commit.

        Without a single score it is what most agree on.
        """
        attempt, draws = self._attempt, self.drawing.draws
        found = usable(draws, strict=attempt.checks.strict)
        if not found:
            raise failure(draws)
        ranked = sorted(found, key=self._rank)
        if self._score(ranked[0]) is None:
            return elect(contenders(found), attempt.expected).chosen
        near = [one for one in ranked[1:2] if self._is_near(ranked[0], one)]
        if self._settings.pairwise and near and attempt.affords(2):
            side = await preferred(attempt, ranked[0].reply, near[0].reply, "p0")
            return near[0] if side == "second" else ranked[0]
        return ranked[0]

    def others(self, chosen: Candidate) -> list[Reply]:
        """Return the replies that answer otherwise than the *chosen* one and each other."""
        found = usable(self.drawing.draws, strict=self._attempt.checks.strict)
        answers = {_answer(chosen)}
        replies = []
        for candidate in sorted(found, key=self._rank):
            if _answer(candidate) not in answers:
                answers.add(_answer(candidate))
                replies.append(candidate.reply)
        return replies

    def result(self, chosen: Candidate) -> dict[str, Json]:
        """Return what there is to report."""
        return {
            "scores": [self._scores.get(draw.place) for draw in self.drawing.candidates],
            "unusable": sum(score is None for score in self._scores.values()),
            "chosen": chosen.place,
            "asked": self.drawing.asked,
            **tally(self.drawing.draws),
        }

    def _numbers(self) -> list[float]:
        return [score for score in self._scores.values() if score is not None]

    def _score(self, candidate: Candidate) -> float | None:
        return self._scores.get(candidate.place)

    def _rank(self, candidate: Candidate) -> tuple[float, int]:
        score = self._score(candidate)
        return 1.0 if score is None else -score, candidate.place

    def _is_near(self, best: Candidate, other: Candidate) -> bool:
        high, low = self._score(best), self._score(other)
        alike = best.reply.parts == other.reply.parts
        return high is not None and low is not None and not alike and high - low < SCORE_NOISE


def _answer(candidate: Candidate) -> str:
    return candidate.key or repr(candidate.reply.parts)
