"""What a vote among the samples of a trace would have come to, by the rules of the real one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from router_service.learning.trace import Outcome, Sample, Spent, Trace
from techniques.engines.vote import Voting
from techniques.parts.agree import contenders, elect, lead, unsorted
from techniques.parts.answers import Expected
from techniques.parts.candidates import Candidate, declined
from techniques.parts.keys import TEXT, keyed
from techniques.parts.stopping import FIRST_WAVE, Lead, next_wave
from techniques.parts.weights import Rule, weights

_ASKED = frozenset({"judge", "p_true"})


@dataclass(frozen=True, slots=True)
class Pace:
    """How many answers are drawn at once: at first, and at most from then on.

    ``sparing``: the first are drawn whatever the vote could need.
    """

    first: int = FIRST_WAVE
    wave: int = 40
    sparing: bool = False


def voted(
    trace: Trace, order: Sequence[Sample], voting: Voting, pace: Pace | None = None
) -> Outcome | None:
    """Return what comes of voting if the samples come in that *order*.

    None where that cannot be told: too few were drawn, one of them is worth nobody knows what, or
    somebody had to say which of them mean the same.
    """
    if len(order) < voting.samples:
        return None
    ballot = _Ballot(order[: voting.samples], trace.expected, voting, pace or Pace())
    while count := ballot.next_wave():
        ballot.draw(count)
    return ballot.outcome()


@dataclass(slots=True)
class _Ballot:
    order: Sequence[Sample]
    expected: Expected
    voting: Voting
    pace: Pace
    asked: int = 0
    drawn: list[Candidate] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    usd: float = 0.0
    calls: int = 0
    ms: float = 0.0

    @property
    def paid(self) -> bool:
        """Whether it takes a call to find out what a vote weighs by."""
        return self.voting.evidence in _ASKED

    def next_wave(self) -> int:
        voting, left = self.voting, len(self.order) - self.asked
        if self.asked == 0 and self.pace.sparing:
            return min(self.pace.first, left)
        stands = self._lead(left)
        if self.asked == 0:
            return min(self.pace.first, next_wave(stands, None))
        return min(self.pace.wave, next_wave(stands, voting.threshold, voting.chance))

    def draw(self, count: int) -> None:
        """Draw, cut off what is not needed any more, and find out what the votes weigh by."""
        wave = range(self.asked, self.asked + count)
        self.asked += count
        self.calls += count
        self.usd += sum(self.order[place].drawn.usd for place in wave)
        took = 0.0
        for place in sorted(wave, key=lambda place: (self.order[place].drawn.ms, place)):
            took = self.order[place].drawn.ms
            self.drawn.append(self.order[place].candidate)
            if not self.paid:
                self.known.add(place)
            if self._lead(len(self.order) - len(self.known)).decided:
                break
        self.drawn.sort(key=lambda one: one.place)
        self.ms += took
        if self.paid:
            self._find()

    def outcome(self) -> Outcome | None:
        chosen = self._chosen()
        value = None if chosen is None else self.order[chosen].value
        return None if value is None else Outcome(value, self.usd, self.calls, self.ms)

    def _find(self) -> None:
        new = [one for one in self.drawn if one.place not in self.known]
        self.known.update(one.place for one in new)
        asked = [self._price(one.place) for one in new if self._worth_asking(one)]
        self.calls += len(asked)
        self.usd += sum(spent.usd for spent in asked)
        self.ms += max((spent.ms for spent in asked), default=0.0)

    def _price(self, place: int) -> Spent:
        sample = self.order[place]
        return sample.judged if self.voting.evidence == "judge" else sample.checked

    def _worth_asking(self, candidate: Candidate) -> bool:
        keyless = self.voting.evidence == "p_true" and candidate.key is None
        return not candidate.refusal and not keyless

    def _lead(self, left: int) -> Lead:
        known = [one for one in self.drawn if one.place in self.known]
        worded = any(one.key is not None and one.key.startswith(TEXT) for one in self.drawn)
        levels = self.expected.kind == "tool" or not keyed(self.expected.text) or worded
        return lead(self._weighed(known, replace(self.voting.rule, noise=0.0)), left, levels=levels)

    def _chosen(self) -> int | None:
        refusal = declined(self.drawn)
        if refusal is not None:
            return next(one.place for one in self.drawn if one.reply is refusal)
        voters = contenders(self._weighed(self.drawn, self.voting.rule))
        return None if unsorted(voters) else elect(voters, self.expected).chosen.place

    def _weighed(self, candidates: Sequence[Candidate], rule: Rule) -> list[Candidate]:
        if self.voting.evidence == "none":
            return list(candidates)
        levels = [self._evidence(one) for one in candidates]
        answers = len({one.key for one in candidates if one.key is not None})
        told = zip(candidates, levels, weights(levels, rule, answers), strict=True)
        return [self._told(one, level, weight) for one, level, weight in told]

    def _told(self, candidate: Candidate, level: float | None, weight: float) -> Candidate:
        if level is None:
            return replace(candidate, weight=weight)
        if self.voting.evidence == "judge":
            return replace(candidate, weight=weight, score=level)
        return replace(candidate, weight=weight, sureness=level)

    def _evidence(self, candidate: Candidate) -> float | None:
        sample = self.order[candidate.place]
        if self.voting.evidence == "judge":
            return None if candidate.refusal else sample.score
        return sample.sure if self._worth_asking(candidate) else None
