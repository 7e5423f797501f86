"""Accumulating: draw until one answer is good enough, else make one of all that were drawn."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from techniques.core.events import Event, Finished, Note
from techniques.core.reply import Fold, choices
from techniques.engines.vote import sorted_by_meaning
from techniques.parts.agree import comparable, contenders, unsorted
from techniques.parts.candidates import Candidate
from techniques.phases.attempt import Attempt, progress
from techniques.phases.branching import uncombined
from techniques.phases.combining import Combining, combined
from techniques.phases.contest import Contest, Terms
from techniques.phases.single import collapsed

_LEAST: Final = 2  # draws: with fewer there is nothing to accumulate
_NOTHING: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Accumulating:
    """How to accumulate.

    Attributes:
        terms: On what terms answers are drawn; a score that is good enough ends it all.
        combining: How several answers become one.
        gap: An answer that is so far ahead of all others is the answer.
        band: One that is so far behind the best is no material for another.
        nats: Both are measured between the logarithms of what is known of the answers.
    """

    terms: Terms
    combining: Combining
    gap: float = math.inf
    band: float = math.inf
    nats: bool = False


def accumulate(attempt: Attempt, settings: Accumulating) -> AsyncGenerator[Event, None]:
    """Draw answers in waves until one is accepted, or until there is enough to make one of.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most. Or the writing of the
            answer broke off after some of it was seen.
    """
    contest = Contest(attempt, settings.terms)
    alone = settings.terms.samples < _LEAST or not attempt.enough(_LEAST * contest.price)
    return collapsed(attempt) if alone else _accumulate(attempt, settings, contest)


async def _accumulate(
    attempt: Attempt, settings: Accumulating, contest: Contest
) -> AsyncGenerator[Event, None]:
    async with aclosing(contest.run()) as events:
        async for event in events:
            yield event
    line = settings.terms.line
    as_drawn = uncombined(attempt, contest.drawing.draws, line)
    for event in as_drawn:
        yield event
    if as_drawn:
        return
    accepted = contest.accepted()
    yield Note("draws", {"accepted": accepted is not None, **contest.result()})
    if accepted is not None:
        reply = line.without(accepted.reply)
        for event in attempt.committed(attempt.beside(reply, contest.others(accepted.reply))):
            yield event
        return
    async with aclosing(_combined(attempt, settings, contest)) as events:
        async for event in events:
            yield event


async def _combined(
    attempt: Attempt, settings: Accumulating, contest: Contest
) -> AsyncGenerator[Event, None]:
    """Yield the events of the answer made of what was drawn, with the others that are wanted."""
    voters = _decodable(attempt, settings, contest)
    if comparable(voters, attempt.expected) and unsorted(voters):
        yield progress("sorting", answers=len(voters))
        voters = await sorted_by_meaning(attempt, voters)
    combining = replace(settings.combining, line=settings.terms.line)
    folded = Fold()
    async with aclosing(combined(attempt, voters, combining)) as events:
        async for event in events:
            folded.feed(event)
            if isinstance(event, Finished):
                answer = folded.so_far()
                beside = attempt.beside(answer, contest.others(answer)).others
                for other in choices(beside):
                    yield other
            yield event


def _decodable(attempt: Attempt, settings: Accumulating, contest: Contest) -> list[Candidate]:
    """Return what the answer is made of: those that vote, or those that are near the best.

    That is the best alone where it is far ahead, or where the client wants to see how likely each
    word was: of a text that is written anew nobody could tell.
    """
    found = contest.found()
    voters = contenders(found)
    if comparable(voters, attempt.expected):
        return voters
    if attempt.request.sampling.logprobs:
        return [contest.best(found)]
    known = {one.place: contest.score(one) for one in voters}
    levels = {
        place: math.log(max(score, _NOTHING)) if settings.nats else score
        for place, score in known.items()
        if score is not None
    }
    if not levels:
        return voters
    return _near(voters, levels, settings)


def _near(
    voters: Sequence[Candidate], levels: dict[int, float], settings: Accumulating
) -> list[Candidate]:
    first, *others = sorted(levels.values(), reverse=True)
    lone = bool(others) and first - others[0] > settings.gap
    least = first if lone else first - settings.band
    return [one for one in voters if levels.get(one.place, -math.inf) >= least]
