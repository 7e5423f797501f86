"""Makes one answer of several that were drawn: by a vote, by choice, or written anew from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.parts.agree import (
    closest,
    clusters,
    comparable,
    contenders,
    elect,
    representative,
    total,
    unanimous,
    worth,
)
from techniques.parts.candidates import Candidate
from techniques.parts.cue import NO_LINE, LastLine
from techniques.parts.guards import Guards, Strictness, majority
from techniques.parts.remarks import read_remarks, remarks_request
from techniques.parts.synthesis import Brief, Intent, begun, synthesis_request
from techniques.parts.transcript import pictures
from techniques.phases.attempt import Attempt, progress
from techniques.phases.pool import strongest
from techniques.phases.writing import Writing, written

Why: TypeAlias = Literal["alone", "vote", "agreement", "dominance"]
"""Why one candidate is the answer, word for word.

``alone``: there is no other. ``vote``: what counts of the answers can be read off them.
``agreement``: all say the same. ``dominance``: it is so much better than the others.
"""


@dataclass(frozen=True, slots=True)
class Combining:
    """How to make one answer of several.

    Attributes:
        guard: How an answer that is written anew is guarded.
        intent: What the writer is to make of the candidates.
        writer: Who writes; None for the strongest model.
        temperature: That of the writing.
        dominance: One that is so much better than all others that they reach less than this share
            of it is the answer; 0 if none is to be.
        by_score: That is measured by the judge's scores, not by the weights.
        shuffled: The writer sees the candidates in random order, not by their weight.
        json: A JSON answer may be written anew too, if it then keeps its form.
        middle: Where nothing tells which is the best, it is the one of middle length, not the
            first.
        line: The last line that the candidates were asked for.
        critique: A critic reads the candidates first, and the writer sees what it says.
        step: The name of the writer's call.
    """

    guard: Strictness = "full"
    intent: Intent = "combine"
    writer: Member | None = None
    temperature: float | None = 0.1
    dominance: float = 0.5
    by_score: bool = False
    shuffled: bool = False
    json: bool = False
    middle: bool = False
    line: LastLine = NO_LINE
    critique: bool = False
    step: str = "s0"


async def combined(
    attempt: Attempt, candidates: Sequence[Candidate], settings: Combining
) -> AsyncGenerator[Event, None]:
    """Yield the events of the one answer that *candidates*, drawn and weighed, amount to.

    There is at least one. Beginning, end and pending warnings of the answer are among the events:
    the caller has nothing to commit. What can be compared exactly is voted on; otherwise an answer
    is written from all of them, unless one alone will do.

    Raises:
        GatewayError: The writing broke off after some of it was seen.
    """
    voters = contenders(candidates)
    why = _why(attempt, voters, settings)
    chosen = _elected(attempt, voters) if why == "vote" else _best(_answers(voters), settings, why)
    best = settings.line.without(chosen.reply)
    writer = None if why else _writer(attempt, settings)
    by = why or ("writing" if writer else "unwritable")
    yield Note("combined", {"by": by, "best": chosen.place, "of": len(candidates)})
    if writer is None:
        for event in attempt.committed(best):
            yield event
        return
    for event in attempt.improved(best):
        yield event
    if settings.critique:
        yield progress("critique", drafts=len(voters))
    writing = await _writing(attempt, _answers(voters), (writer, best), settings)
    yield progress("writing", drafts=len(voters))
    async with aclosing(written(attempt, writing)) as events:
        async for event in events:
            yield event


def _why(attempt: Attempt, voters: Sequence[Candidate], settings: Combining) -> Why | None:
    """Return why one of *voters* is the answer, None if one is to be written."""
    answers = _answers(voters)
    compared = comparable(voters, attempt.expected, json=not settings.json)
    if not answers or (compared and len(voters) > 1):
        return "vote"
    if len(answers) == 1:
        return "alone"
    if unanimous(voters):
        return "agreement"
    return "dominance" if _dominates(answers, settings) else None


def _elected(attempt: Attempt, voters: list[Candidate]) -> Candidate:
    """Return the outcome of the vote; of JSON without a majority what is most like all others."""
    election = elect(voters, attempt.expected)
    if not election.agreed:
        attempt.split()
    split = 2 * sum(election.totals[:1]) <= total(voters)
    if split and attempt.expected.text == "json" and not election.chosen.reply.tool_calls:
        return closest(voters, attempt.expected.schema)
    return election.chosen


def _answers(voters: Sequence[Candidate]) -> list[Candidate]:
    """Return those of *voters* that do not decline, in order of what is known for them."""
    answers = (voter for voter in voters if not voter.refusal)
    return sorted(answers, key=lambda one: (-one.weight, *worth(one)))


def _best(answers: Sequence[Candidate], settings: Combining, why: Why | None) -> Candidate:
    """Return the best of *answers*, which stand in order.

    Where most of the weight states one thing, it is one of those that do.
    """
    if why == "dominance":
        return answers[0]
    if majority(answers) is not None:
        return representative(clusters(answers)[0].members)
    if settings.middle and _known(answers[0]) == _known(answers[-1]):
        by_length = sorted(answers, key=lambda one: len(one.reply.text))
        return by_length[(len(answers) - 1) // 2]
    return answers[0]


def _known(candidate: Candidate) -> tuple[float, float | None, float | None]:
    return candidate.weight, candidate.score, candidate.sureness


def _dominates(answers: Sequence[Candidate], settings: Combining) -> bool:
    """Tell whether the first of *answers* is far above all others. Unknown is not below."""
    best, *others = [one.score if settings.by_score else one.weight for one in answers]
    if best is None:
        return False
    return all(value is not None and value < settings.dominance * best for value in others)


def _writer(attempt: Attempt, settings: Combining) -> Member | None:
    """Return who writes; None, with a warning, if nobody can."""
    if begun(attempt.request):
        attempt.warn("not_combined", "the answer's beginning is given")
        return None
    writer = settings.writer
    if writer is None or (pictures(attempt.request) and not writer.capabilities.vision):
        writer = strongest(attempt)
    if writer is None:
        attempt.warn("not_combined", "no model of the pool sees pictures")
        return None
    return writer if attempt.affords(1) else None


async def _writing(
    attempt: Attempt, answers: list[Candidate], parties: tuple[Member, Reply], settings: Combining
) -> Writing:
    """Return the call to the writer, the first of *parties*, with what to give in its stead."""
    writer, best = parties
    if settings.shuffled:
        attempt.task.random.shuffle(answers)
    drafts = [replace(one, reply=settings.line.without(one.reply)) for one in answers]
    remarks = await _remarks(attempt, drafts, settings.step) if settings.critique else ""
    brief = Brief(drafts, settings.intent, settings.temperature, remarks, settings.step)
    request = synthesis_request(attempt.request, brief, attempt.fence, writer)
    guards = Guards(drafts, attempt.request, attempt.checks, attempt.expected)
    return Writing(Asking(writer, request), best, guards, settings.guard)


async def _remarks(attempt: Attempt, drafts: Sequence[Candidate], step: str) -> str:
    """Return what a critic says of *drafts* side by side, "" if that cannot be had or used."""
    if not attempt.affords(2):  # one is for the writing itself
        return ""
    critic = attempt.critic()
    request = remarks_request(attempt.aside(critic, f"k{step}"), drafts)
    (outcome,) = await attempt.ask([Asking(critic, request)])
    remarks = read_remarks(outcome.text) if isinstance(outcome, Reply) else None
    if remarks is None:
        attempt.warn("critique_unusable", request.step)
    return remarks or ""
