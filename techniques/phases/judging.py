"""Asks a judge, and keeps count of the verdicts that cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from techniques.core.channel import Member
from techniques.core.fanout import Asking, Outcome
from techniques.core.reply import Reply
from techniques.parts.candidates import Candidate
from techniques.parts.judge import (
    Side,
    agreed,
    preference_request,
    read_preference,
    read_score,
    verdict_request,
)
from techniques.parts.picking import pick_request, read_pick
from techniques.phases.attempt import Attempt


async def scored(attempt: Attempt, candidates: Sequence[Candidate], unit: str) -> list[Candidate]:
    """Return *candidates* with the judge's scores; None where it gave none in two tries.

    The steps are *unit* and the place; the second tries, all made after the first, have ``r`` too.
    """
    judge = attempt.judge()
    scores: dict[int, float | None] = {}
    missing = list(candidates)
    asked = False
    for tried in (unit, f"{unit}r"):
        if not missing or not attempt.affords(len(missing)):
            break
        asked = True
        outcomes = await attempt.ask([_check(attempt, judge, one, tried) for one in missing])
        ended = list(zip(missing, outcomes, strict=True))
        scores |= {one.place: _score(outcome) for one, outcome in ended}
        failed = sum(not isinstance(outcome, Reply) for _, outcome in ended)
        if failed:
            attempt.warn("judge_failed", f"{failed} of {len(missing)}")
        missing = [
            one
            for one, outcome in ended
            if scores[one.place] is None and isinstance(outcome, Reply)
        ]
    for one in missing if asked else ():
        attempt.warn("judge_unparsable", f"{unit}{one.place}")
    return [replace(one, score=scores.get(one.place)) for one in candidates]


async def preferred(attempt: Attempt, first: Reply, second: Reply, step: str) -> Side:
    """Return which reply the judge prefers in both orders, else ``tie``."""
    judge = attempt.judge()
    orders = ((first, second), (second, first))
    calls = [
        Asking(judge, preference_request(attempt.aside(judge, f"{step}{letter}"), *order))
        for letter, order in zip("ab", orders, strict=True)
    ]
    as_given, swapped = [_side(outcome) for outcome in await attempt.ask(calls)]
    if as_given is None or swapped is None:
        attempt.warn("judge_unparsable", step)
    return agreed(as_given, swapped)


async def picked(attempt: Attempt, order: Sequence[Candidate]) -> Candidate | None:
    """Return the one of *order*, best random, that the judge picks when it sees all of them.

    It sees them in that order and in the opposite one. Where its picks differ it compares these two
    side by side, and a tie goes to the one drawn first. None if neither pick could be read.
    """
    judge = attempt.judge()
    orders = (order, order[::-1])
    calls = [
        Asking(judge, pick_request(attempt.aside(judge, step), [one.reply for one in shown]))
        for step, shown in zip(("g0", "g1"), orders, strict=True)
    ]
    outcomes = await attempt.ask(calls)
    picks = [_pick(outcome, shown) for outcome, shown in zip(outcomes, orders, strict=True)]
    if None in picks:
        attempt.warn("judge_unparsable", "g0" if picks[0] is None else "g1")
    found = {one.place: one for one in picks if one is not None}
    if len(found) < 2 or not attempt.affords(2):
        return found[min(found)] if found else None
    first, second = found[min(found)], found[max(found)]
    side = await preferred(attempt, first.reply, second.reply, "p0")
    return second if side == "second" else first


def _check(attempt: Attempt, judge: Member, candidate: Candidate, unit: str) -> Asking:
    aside = attempt.aside(judge, f"{unit}{candidate.place}")
    return Asking(judge, verdict_request(aside, candidate.reply))


def _score(outcome: Outcome) -> float | None:
    return read_score(outcome.text) if isinstance(outcome, Reply) else None


def _side(outcome: Outcome) -> Side | None:
    return read_preference(outcome.text) if isinstance(outcome, Reply) else None


def _pick(outcome: Outcome, order: Sequence[Candidate]) -> Candidate | None:
    index = read_pick(outcome.text, len(order)) if isinstance(outcome, Reply) else None
    return None if index is None else order[index]
