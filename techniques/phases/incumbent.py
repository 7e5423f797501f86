"""The text that stands, what is known of it, and what may take its place. Ties keep it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from techniques.core.reply import Reply
from techniques.parts.accept import better
from techniques.parts.candidates import Candidate
from techniques.phases.attempt import Attempt
from techniques.phases.judging import preferred, scored
from techniques.phases.trial import Trial, tried

AcceptRule: TypeAlias = Literal["pairwise", "score", "off"]

CALLS: Final[dict[AcceptRule, int]] = {"pairwise": 2, "score": 2, "off": 0}
"""How many calls a rule takes at most."""


@dataclass(slots=True)
class Incumbent:
    """The *reply* that stands.

    Attributes:
        attempt: Whose answer it is.
        rule: What another text must pass to take its place: be preferred in both orders, score
            clearly higher, or nothing.
        reply: The text.
        trial: How it did where nobody need be asked.
        scores: A judge's scores of it.
    """

    attempt: Attempt
    rule: AcceptRule
    reply: Reply
    trial: Trial = field(default_factory=Trial)
    scores: list[float] = field(default_factory=list)

    async def try_out(self) -> None:
        """Find out how it does."""
        self.trial = await tried(self.attempt, self.reply)

    async def judged(self, place: int) -> float | None:
        """Return a judge's score of it, asked for in round *place* if there is none yet."""
        if not self.scores:
            score = await self._score(self.reply, "s", place)
            self.scores = [] if score is None else [score]
        return self.scores[0] if self.scores else None

    async def gives_way(self, reply: Reply, place: int) -> bool:
        """Let *reply*, the revision of round *place*, take its place if that is better.

        What can be found out without a judge comes first, and no judge overrules it.
        """
        trial = await tried(self.attempt, reply)
        score: float | None = None
        if trial.rank != self.trial.rank:
            passes = trial.rank > self.trial.rank
        elif self.rule == "pairwise":
            passes = await preferred(self.attempt, self.reply, reply, f"p{place}") == "second"
        elif self.rule == "score":
            if await self.judged(place) is not None:
                score = await self._score(reply, "t", place)
            passes = better(score, self.scores)
        else:
            passes = True
        if passes:
            self.reply, self.trial = reply, trial
            self.scores = [] if score is None else [score]
        return passes

    async def _score(self, reply: Reply, unit: str, place: int) -> float | None:
        (candidate,) = await scored(self.attempt, [Candidate(place, reply)], unit)
        return candidate.score
