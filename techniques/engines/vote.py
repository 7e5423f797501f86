"""Voting: draw until the majority stands, then commit one of it, word for word."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from pricing.record import record
from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.agree import Election, contenders, elect, labelled, runners_up, unsorted
from techniques.parts.candidates import Candidate, declined, failure, tally, usable
from techniques.parts.cue import cue, cued, uncued
from techniques.parts.labels import labels_request, read_labels
from techniques.parts.stopping import (
    FIRST_WAVE,
    Chance,
    Lead,
    majority,
    next_wave,
    share_interval,
)
from techniques.parts.trust import outweighs
from techniques.parts.weights import COUNT, Rule
from techniques.phases.attempt import Attempt, progress
from techniques.phases.drawing import Drawing
from techniques.phases.evidence import SourceName
from techniques.phases.single import collapsed
from techniques.phases.trust import trust
from techniques.phases.weighing import weighing_by

_TRIES: Final = 2
_ASKED_FOR: Final = frozenset({"judge", "p_true"})  # a further call for each answer


@record(frozen=True, slots=True)
class Voting:
    """How to vote.

    Attributes:
        samples: The most draws.
        temperature: That of all draws but the first.
        threshold: How sure to be before stopping, None for quite sure.
        chance: Of what: how sure the majority is, or that going on would change nothing.
        everyone: Go round all models of the pool.
        cue: A marked final line may be asked for.
        evidence: What the votes weigh by, if they do not all count the same.
        rule: How that becomes weight.
    """

    samples: int
    temperature: float
    threshold: float | None
    chance: Chance = majority
    everyone: bool = False
    cue: bool = True
    evidence: SourceName = "none"
    rule: Rule = COUNT


def vote(attempt: Attempt, settings: Voting) -> AsyncGenerator[Event, None]:
    """Draw answers in waves and commit one that most of them agree with.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most.
    """
    least = 4 if settings.evidence in _ASKED_FOR else 2
    alone = settings.samples == 1 or not attempt.enough(least)
    return collapsed(attempt) if alone else _vote(attempt, settings)


async def _vote(attempt: Attempt, settings: Voting) -> AsyncGenerator[Event, None]:
    ballot = _Ballot(attempt, settings)
    yield progress("sampling", most=settings.samples)
    while count := ballot.next_wave():
        for event in attempt.improved(ballot.standing()):
            yield event
        await ballot.drawing.wave(count, lambda: ballot.lead().decided)
        yield progress("sampled", done=len(ballot.drawing.draws), most=settings.samples)
        if ballot.weighing.price > 1:
            for event in attempt.improved(ballot.standing()):
                yield event
            yield progress("weighing", answers=len(ballot.drawing.candidates))
            await ballot.weighing.find(ballot.drawing.candidates)
    draws = ballot.drawing.draws
    reply = declined(draws)
    if reply is None:
        voters = ballot.voters()
        if unsorted(voters):
            yield progress("sorting", answers=len(voters))
            voters = await sorted_by_meaning(attempt, voters)
        election = elect(voters, attempt.expected)
        reply = ballot.shown(election, voters)
        yield Note("votes", {**_result(election, ballot.drawing), **ballot.evidence(voters)})
    else:
        yield attempt.refused(draws)
    for event in attempt.committed(reply):
        yield event


class _Ballot:
    """The draws of a vote, and when there are enough of them."""

    def __init__(self, attempt: Attempt, settings: Voting) -> None:
        asks = cue(attempt.expected) if settings.cue else None
        request = cued(attempt.request, asks) if asks else attempt.request
        self._attempt = attempt
        self._settings = settings
        self._cued = asks is not None
        self._trust = trust(attempt, attempt.channels.pool if settings.everyone else ())
        pool = self._trust.ordered(attempt.channels.pool)
        attempt.channels = replace(attempt.channels, primary=pool[0], pool=pool)
        alone = _alone(settings.samples, len(pool)) if self._trust.settles(pool) else 0
        most = min(settings.samples, alone + len(pool) - 1) if alone else settings.samples
        drawer = partial(attempt.drawer, everyone=settings.everyone, after=alone)
        self.weighing = weighing_by(
            attempt, settings.evidence, drawer, settings.rule, known=self._trust
        )
        self.drawing = Drawing(
            attempt,
            request,
            attempt.spread(settings.temperature),
            most,
            drawer,
            self.weighing.trust if self._trust.counts else None,
            fit=self.weighing.source.fit,
            read=self.weighing.read,
        )

    def lead(self) -> Lead:
        """Return how the vote stands."""
        return self.drawing.lead(self.weighing.known(self.drawing.candidates))

    def standing(self) -> Reply | None:
        """Return what would be answered if the vote ended now, None if nothing would."""
        draws, candidates = self.drawing.draws, self.drawing.candidates
        refusal = declined(draws)
        if refusal is not None or not candidates:
            return refusal
        voters = contenders(self.weighing.weighed(candidates))
        return self._bare(elect(voters, self._attempt.expected).chosen.reply)

    def next_wave(self) -> int:
        """Return how many draws to make next, 0 when the vote is over."""
        stands = self.drawing.outlook(self.weighing.known(self.drawing.candidates))
        if self.drawing.asked == 0:
            count = min(FIRST_WAVE, next_wave(stands, None))
        else:
            count = next_wave(stands, self._settings.threshold, self._settings.chance)
        return self._attempt.room(count, self.weighing.price)

    def voters(self) -> list[Candidate]:
        """Return who votes in the end.

        Raises:
            GatewayError: There is nobody.
        """
        draws = self.drawing.draws
        candidates = usable(draws, strict=self._attempt.checks.strict)
        if not candidates:
            raise failure(draws)
        if self._settings.evidence not in {"none", "judge"} and not self.weighing.tells(candidates):
            self._attempt.warn("confidence_unusable", "Each answer counted the same.")
        return contenders(self.weighing.weighed(candidates))

    def evidence(self, voters: list[Candidate]) -> dict[str, Json]:
        """Return what there is to report of what the votes of *voters* weigh by."""
        told: dict[str, Json] = {}
        if self._trust.counts:
            told["trust"] = [round(one.trust, 4) for one in voters]
        if self._settings.evidence == "none":
            return told
        return {
            **told,
            "by": self._settings.evidence,
            "evidence": [self.weighing.evidence.get(one.place) for one in voters],
            "weights": [round(one.weight, 4) for one in voters],
        }

    def shown(self, election: Election, voters: Sequence[Candidate]) -> Reply:
        """Return the chosen reply as the client is to see it, with the others that it wants."""
        if not election.agreed and not self._unopposed(election):
            self._attempt.split()
        others = runners_up(voters, election.chosen)
        return self._attempt.beside(
            self._bare(election.chosen.reply), [self._bare(other.reply) for other in others]
        )

    def _unopposed(self, election: Election) -> bool:
        """Tell whether the winner outweighs all others by trust, drawn or not, even alone."""
        known = self.weighing.known(self.drawing.candidates)
        coming = self.drawing.pending(known)
        weights = map(self.weighing.trust, coming)
        return bool(self._trust.counts) and outweighs([*election.totals, *weights])

    def _bare(self, reply: Reply) -> Reply:
        return uncued(reply) if self._cued else reply


async def sorted_by_meaning(attempt: Attempt, candidates: list[Candidate]) -> list[Candidate]:
    """Return *candidates* keyed by what they conclude, as the model sees it.

    If it cannot say, they keep their keys: then only answers of the same words agree.
    """
    order = [candidate for candidate in candidates if candidate.key and not candidate.refusal]
    attempt.task.random.shuffle(order)
    voter = attempt.channels.primary
    for place in range(_TRIES):
        if not attempt.affords(1):
            break
        request = labels_request(attempt.aside(voter, f"v{place}"), order)
        (outcome,) = await attempt.ask([Asking(voter, request)])
        labels = read_labels(outcome.text, order) if isinstance(outcome, Reply) else None
        if labels is not None:
            return labelled(candidates, labels)
    attempt.warn("voter_unusable", "Only answers of the same words were counted as alike.")
    return candidates


def _alone(samples: int, models: int) -> int:
    """Return how many of *samples* a model draws first that outweighs all others of its pool.

    Its share, if that is enough for a vote of its own. The others draw only where that fails.
    """
    share = samples // models
    return share if share >= FIRST_WAVE else 1


def _result(election: Election, drawing: Drawing) -> dict[str, Json]:
    voters = sum(election.counts)
    low, high = share_interval(election.votes, voters) if voters else (0.0, 1.0)
    return {
        "for": election.votes,
        "of": voters,
        "counts": list(election.counts),
        "share": election.votes / voters if voters else 0.0,
        "low": low,
        "high": high,
        "chosen": election.chosen.place,
        "asked": drawing.asked,
        **tally(drawing.draws),
    }
