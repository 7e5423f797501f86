"""Synthesising: draw unlike answers at once, weigh them, and make one answer of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from statistics import median

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.request import Request
from techniques.parts.agree import unanimous
from techniques.parts.candidates import Candidate, Draw, tally
from techniques.parts.cue import LastLine, cue
from techniques.parts.weights import COUNT, Rule
from techniques.phases.attempt import Attempt, progress
from techniques.phases.branching import Branch, drawn, uncombined
from techniques.phases.combining import Combining, combined
from techniques.phases.evidence import SourceName
from techniques.phases.single import collapsed
from techniques.phases.trust import trust
from techniques.phases.weighing import weighing_by


@dataclass(frozen=True, slots=True)
class Synthesising:
    """How to draw and weigh.

    Attributes:
        branches: What to draw, the client's own way first.
        combining: How the answers become one.
        evidence: What the answers weigh by, if they do not all weigh the same.
        rule: How that becomes weight.
        cue: A marked final line may be asked for.
    """

    branches: Sequence[Branch]
    combining: Combining
    evidence: SourceName = "none"
    rule: Rule = COUNT
    cue: bool = True


def synthesise(attempt: Attempt, settings: Synthesising) -> AsyncGenerator[Event, None]:
    """Draw one answer on each branch, all at once, and commit what they amount to.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most. Or the writing of the
            answer broke off after some of it was seen.
    """
    alone = len(settings.branches) < 2 or not attempt.enough(2 * _price(settings))
    return collapsed(attempt) if alone else _synthesise(attempt, settings)


async def _synthesise(attempt: Attempt, settings: Synthesising) -> AsyncGenerator[Event, None]:
    harvest = _Harvest(attempt, settings)
    yield progress("sampling", most=len(harvest.branches))
    await harvest.draw()
    as_drawn = uncombined(attempt, harvest.draws, harvest.line)
    for event in as_drawn:
        yield event
    if as_drawn:
        return
    yield Note("draws", tally(harvest.draws))
    if harvest.doubtful:
        for event in attempt.improved(harvest.line.without(harvest.candidates[0].reply)):
            yield event
        yield progress("weighing", answers=len(harvest.candidates))
        await harvest.find()
    combining = replace(settings.combining, line=harvest.line)
    async with aclosing(combined(attempt, harvest.weighed(), combining)) as events:
        async for event in events:
            yield event


class _Harvest:
    """The draws of one attempt, and what they weigh.

    Attributes:
        branches: What is drawn.
        line: The last line that is asked for, and to be taken out again.
        draws: What was drawn.
    """

    def __init__(self, attempt: Attempt, settings: Synthesising) -> None:
        self.line = LastLine(cue(attempt.expected) if settings.cue else None)
        affordable = attempt.affordable(_price(settings) * len(settings.branches))
        self.branches = settings.branches[: affordable // _price(settings)]
        self.draws: list[Draw] = []
        self._attempt = attempt
        self._evidence = settings.evidence
        known = trust(attempt, [branch.member for branch in self.branches])
        self._weighing = weighing_by(
            attempt, settings.evidence, self._drawer, settings.rule, known=known
        )

    @property
    def candidates(self) -> list[Candidate]:
        """The usable draws, by place."""
        return [draw for draw in self.draws if isinstance(draw, Candidate)]

    @property
    def doubtful(self) -> bool:
        """Whether it takes calls to weigh the candidates, and their weights can matter."""
        alone = len(self.candidates) == 1
        return self._weighing.price > 1 and not alone and not unanimous(self.candidates)

    async def draw(self) -> None:
        """Draw once on each branch."""
        branches = [replace(one, request=self._fitted(one)) for one in self.branches]
        spread = self._attempt.spread(None)
        self.draws = await drawn(self._attempt, branches, spread, read=self._weighing.read)

    async def find(self) -> None:
        """Find out what the candidates weigh by, as far as that takes calls."""
        await self._weighing.find(self.candidates)

    def weighed(self) -> list[Candidate]:
        """Return the candidates with their weights; the hot ones weigh no more than most others."""
        candidates = self.candidates
        tells = self._evidence in {"none", "judge"} or self._weighing.tells(candidates)
        if not tells:
            self._attempt.warn("confidence_unusable", "Each answer counted the same.")
        weighed = self._weighing.weighed(candidates)
        cool = [one.weight for one in weighed if not self.branches[one.place].hot]
        most = median(cool) if cool else 1.0
        return [
            replace(one, weight=min(one.weight, most)) if self.branches[one.place].hot else one
            for one in weighed
        ]

    def _fitted(self, branch: Branch) -> Request:
        return self._weighing.source.fit(self.line.wanted(branch.request), branch.member)

    def _drawer(self, place: int) -> Member:
        return self.branches[place].member


def _price(settings: Synthesising) -> int:
    """Return how many calls an answer takes: the draw, and the judge's."""
    return 2 if settings.evidence == "judge" else 1
