"""Asks a critic, round by round, for what is worth mending."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.parts.critique import (
    Critique,
    Finding,
    Lens,
    Severity,
    critique_request,
    read_critique,
)
from techniques.parts.mending import worth_mending
from techniques.phases.attempt import Attempt

_LEAST_SHARE: Final = 0.1
_AFTER_REJECTION: Final = 0.5
_AFTER_SUCCESS: Final = 1.2


@dataclass(frozen=True, slots=True)
class Faultfinding:
    """How to look for faults.

    Attributes:
        most: The most faults to mend in one round.
        floor: What is less grave is let be.
        early_stop: The critic's word that nothing is worth a change ends it, whatever it lists.
        other: Another model than the author looks, if there is one.
        lenses: What to look at, round by round, and then from the start again.
        share: Which share of the faults, the gravest, to pass on: less after a rejection, and
            step by step as much as this again after a success.
    """

    most: int = 5
    floor: Severity = "minor"
    early_stop: bool = True
    other: bool = False
    lenses: Sequence[Lens] = ("everything",)
    share: float = 1.0


@dataclass(slots=True)
class Critic:
    """Finds the faults of an *author*'s text, and none a second time.

    ``dropped`` are how many of the last critique's findings are not acted on.
    """

    attempt: Attempt
    settings: Faultfinding
    author: Member
    share: float = field(init=False)
    passed_on: list[Finding] = field(default_factory=list)
    dropped: int = 0

    def __post_init__(self) -> None:
        self.share = self.settings.share

    async def findings(self, standing: Reply, place: int, calls: int) -> list[Finding] | None:
        """Return what to mend of *standing* in round *place*; None if no critique can be read.

        A second critique is asked for only if *calls* after it, the rest of the round, can be made.
        """
        critique = await self._critique(standing, place, "k")
        if critique is None and self.attempt.affords(1 + calls):
            critique = await self._critique(standing, place, "kr")
            if critique is None:
                self.attempt.warn("critique_unusable", f"k{place}")
        if critique is None:
            return None
        found = self._worth(critique, standing)
        self.passed_on += found
        self.dropped = len(critique.findings) - len(found)
        return found

    def settle(self, *, accepted: bool) -> None:
        """Pass on less or more from now on, as the revision was *accepted* or not."""
        if accepted:
            self.share = min(self.settings.share, self.share * _AFTER_SUCCESS)
        else:
            self.share = min(self.settings.share, max(_LEAST_SHARE, self.share * _AFTER_REJECTION))

    def _worth(self, critique: Critique, standing: Reply) -> list[Finding]:
        if critique.done and self.settings.early_stop:
            return []
        found = worth_mending(
            critique.findings,
            standing.text,
            self.attempt.expected.text,
            earlier=self.passed_on,
            floor=self.settings.floor,
        )
        return found[: min(self.settings.most, math.ceil(self.share * len(found)))]

    async def _critique(self, standing: Reply, place: int, unit: str) -> Critique | None:
        critic = self.attempt.critic(self.author, other=self.settings.other)
        lenses = self.settings.lenses
        request = critique_request(
            self.attempt.aside(critic, f"{unit}{place}"),
            standing,
            self.attempt.expected.text,
            lens=lenses[place % len(lenses)],
            settled=[finding.quote for finding in self.passed_on],
        )
        (outcome,) = await self.attempt.ask([Asking(critic, request)])
        return read_critique(outcome.text) if isinstance(outcome, Reply) else None
