"""Selecting: draw, find out what each answer is worth, commit the best, word for word."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from techniques.core.events import Event, Note
from techniques.parts.candidates import Candidate, declined
from techniques.parts.judge import Side
from techniques.parts.stopping import SCORE_NOISE
from techniques.phases.attempt import Attempt
from techniques.phases.contest import Contest, Terms
from techniques.phases.judging import preferred
from techniques.phases.single import collapsed

_LEAST_JUDGED: Final = 4  # two answers and their scores: with less there is nothing to select from
_LEAST_FREE: Final = 2


def select(attempt: Attempt, terms: Terms, *, pairwise: bool = True) -> AsyncGenerator[Event, None]:
    """Draw answers on these *terms* and commit the best.

    With *pairwise* the best two are compared side by side where their scores are as good as equal.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most.
    """
    judged = terms.tests is None and terms.evidence == "judge"
    least = _LEAST_JUDGED if judged else _LEAST_FREE
    alone = terms.samples == 1 or not attempt.enough(least)
    return collapsed(attempt) if alone else _select(attempt, terms, pairwise=pairwise)


async def _select(attempt: Attempt, terms: Terms, *, pairwise: bool) -> AsyncGenerator[Event, None]:
    contest = Contest(attempt, terms)
    async with aclosing(contest.run()) as events:
        async for event in events:
            yield event
    reply = declined(contest.drawing.draws)
    if reply is None:
        chosen = await _best(attempt, contest, pairwise=pairwise)
        reply = attempt.beside(chosen.reply, contest.others(chosen.reply))
        yield Note("scores", {"chosen": chosen.place, **contest.result()})
    else:
        yield attempt.refused(contest.drawing.draws)
    for event in attempt.committed(reply):
        yield event


async def _best(attempt: Attempt, contest: Contest, *, pairwise: bool) -> Candidate:
    """Return the candidate to commit, after a comparison of the best two if that is called for."""
    ranked = contest.found()
    if contest.tested:
        return contest.trials.best(ranked)
    best = contest.best(ranked)
    if contest.score(best) is None or contest.measured:
        return best
    near = next((one for one in ranked[1:2] if _is_near(contest, best, one)), None)
    if near is None:
        return best
    side: Side = "tie"
    if pairwise and attempt.affords(2):
        side = await preferred(attempt, best.reply, near.reply, "p0")
    return {"first": best, "second": near, "tie": _cheaper(contest, best, near)}[side]


def _cheaper(contest: Contest, best: Candidate, near: Candidate) -> Candidate:
    """Return the one whose model costs less of two that are as good, *best* if that is unknown."""
    costs = [contest.drawing.drawer(one.place).cost for one in (best, near)]
    known = [cost for cost in costs if cost is not None]
    return near if len(known) == len(costs) and known[1] < known[0] else best


def _is_near(contest: Contest, best: Candidate, other: Candidate) -> bool:
    high, low = contest.score(best), contest.score(other)
    alike = best.reply.parts == other.reply.parts
    return high is not None and low is not None and not alike and high - low < SCORE_NOISE
