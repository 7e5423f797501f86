"""Mixing: models answer, answer again with all answers in view, and one sums up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.request import Request
from techniques.parts.agree import contenders, unanimous
from techniques.parts.candidates import Candidate, Draw, tally
from techniques.parts.cue import LastLine, cue
from techniques.parts.synthesis import Brief, begun, with_drafts
from techniques.phases.attempt import Attempt, progress
from techniques.phases.branching import Branch, drawn, uncombined
from techniques.phases.combining import Combining, combined
from techniques.phases.single import collapsed
from techniques.phases.trust import trust


@dataclass(frozen=True, slots=True)
class Mixing:
    """How to mix.

    Attributes:
        proposers: Who answers in each layer; one model may be there several times.
        layers: How often they answer; from the second time on with the answers before in view.
        temperature: That of all answers but the first.
        combining: How the last layer's answers become one.
        cue: A marked final line may be asked for.
    """

    proposers: Sequence[Member]
    layers: int
    temperature: float
    combining: Combining
    cue: bool = True


def mix(attempt: Attempt, settings: Mixing) -> AsyncGenerator[Event, None]:
    """Have the proposers answer, layer after layer, and commit what the last answers amount to.

    Source: Wang et al. 2024, arXiv:2406.04692, section 2.2.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most. Or the writing of the
            answer broke off after some of it was seen.
    """
    alone = len(settings.proposers) < 2 or not attempt.enough(2)
    return collapsed(attempt) if alone else _mix(attempt, settings)


async def _mix(attempt: Attempt, settings: Mixing) -> AsyncGenerator[Event, None]:
    layers = _Layers(attempt, settings)
    while layers.goes_on():
        yield progress("sampling", layer=layers.done + 1, most=settings.layers)
        fresh = await layers.draw()
        as_drawn = uncombined(attempt, layers.draws, layers.line)
        for event in as_drawn:
            yield event
        if as_drawn:
            return
        yield Note("draws", {"layer": layers.done, **tally(fresh)})
    combining = replace(settings.combining, line=layers.line)
    async with aclosing(combined(attempt, layers.weighed(), combining)) as events:
        async for event in events:
            yield event


class _Layers:
    """The layers of one attempt.

    Attributes:
        line: The last line that is asked for, and to be taken out again.
        done: How many layers were drawn.
        draws: Those of the last layer that gave an answer.
    """

    def __init__(self, attempt: Attempt, settings: Mixing) -> None:
        self.line = LastLine(cue(attempt.expected) if settings.cue else None)
        self.done = 0
        self.draws: list[Draw] = []
        self._attempt = attempt
        self._settings = settings
        self._request = self.line.wanted(attempt.request)
        self._drawers: list[Member] = []

    @property
    def candidates(self) -> list[Candidate]:
        """The usable draws of the last layer that has any, by place."""
        return [draw for draw in self.draws if isinstance(draw, Candidate)]

    def weighed(self) -> list[Candidate]:
        """Return the candidates with the weight that the model of each gives it."""
        known = trust(self._attempt, self._settings.proposers)
        return known.given(self.candidates, self._drawers.__getitem__)

    def goes_on(self) -> bool:
        """Tell whether another layer is wanted, and leaves a call for the summing up."""
        if self.done == 0:
            return True
        last = self.done == self._settings.layers or begun(self._attempt.request)
        if last or self._attempt.late:
            return False
        standing = contenders(self.candidates)
        settled = len(standing) == 1 or unanimous(standing) or standing[0].reply.tool_calls
        return not settled and self._attempt.affords(len(self._settings.proposers) + 1)

    async def draw(self) -> list[Draw]:
        """Draw the next layer and return it; one in which nothing is usable changes nothing."""
        attempt, settings = self._attempt, self._settings
        count = attempt.affordable(len(settings.proposers))
        request = self._with_answers()
        branches = [Branch(member, request) for member in settings.proposers[:count]]
        spread = attempt.spread(settings.temperature)
        draws = await drawn(attempt, branches, spread, first=len(self._drawers))
        self.done += 1
        self._drawers += settings.proposers[:count]
        if not self.draws or any(isinstance(draw, Candidate) for draw in draws):
            self.draws = draws
        return draws

    def _with_answers(self) -> Request:
        answers = [one for one in contenders(self.candidates) if not one.refusal]
        if not answers:
            return self._request
        drafts = [replace(one, reply=self.line.without(one.reply)) for one in answers]
        return with_drafts(self._request, Brief(drafts, "aggregate"), self._attempt.fence)
