"""What is known of how far the models of a pool can be trusted, and what follows for a vote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeAlias

from pricing.record import record
from techniques.core.channel import Member
from techniques.parts.candidates import Candidate
from techniques.parts.trust import beside, outweighs, trusted
from techniques.phases.attempt import Attempt
from techniques.phases.pool import accuracies

Drawer: TypeAlias = Callable[[int], Member]
"""Tells who draws at a place."""


@record(frozen=True, slots=True)
class Trust:
    """What a vote of each model counts, by the member's id; each counts 1 where it is empty."""

    counts: Mapping[str, float] = field(default_factory=dict)

    def of(self, member: Member) -> float:
        """Return what a vote of *member* counts, above 0 and at most 1."""
        return self.counts.get(member.id, 1.0)

    def ordered(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return *members*, those first that can be trusted most."""
        return tuple(sorted(members, key=self.of, reverse=True))

    def given(self, candidates: Sequence[Candidate], drawer: Drawer) -> list[Candidate]:
        """Return *candidates* with the trust in who drew them, and their weight by it."""
        counts = [self.of(drawer(one.place)) for one in candidates]
        return [
            replace(one, trust=count, weight=one.weight * count)
            for one, count in zip(candidates, counts, strict=True)
        ]

    def settles(self, members: Sequence[Member]) -> bool:
        """Tell whether one of *members* counts more than all others together."""
        return bool(self.counts) and outweighs([self.of(one) for one in self.ordered(members)])


EQUAL: Final = Trust()
"""Every vote counts the same."""


def trust(attempt: Attempt, members: Sequence[Member]) -> Trust:
    """Return how far each of *members* can be trusted with the kind of answer that is asked for.

    Where they are one model, or it was not measured of all of them, each counts the same; the
    latter is told as a warning, for a few weak models then outvote a strong one.
    """
    if len({member.model for member in members}) < 2:
        return Trust()
    known = accuracies(attempt, members)
    if not known:
        named = dict.fromkeys(member.name or member.model for member in members)
        attempt.warn("uncalibrated", f"{', '.join(named)} ({attempt.expected.text})")
        return Trust()
    counts = dict(zip(known, trusted(list(known.values())), strict=True))
    return Trust({one.id: _beside(attempt, one, members, counts) for one in members})


def _beside(
    attempt: Attempt, member: Member, members: Sequence[Member], counts: Mapping[str, float]
) -> float:
    """Return what a vote of *member* counts: by how it does beside the best, if that is known."""
    best = max(members, key=lambda one: counts[one.id])
    kind = attempt.expected.text
    share = attempt.task.calibration.ahead(member.name, best.name, kind)
    return counts[member.id] if share is None else beside(share)
