"""Parity: one answer, and what is asked beside it to find and correct its errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.core.request import ToolChoice
from techniques.parts.candidates import Candidate, Draw
from techniques.parts.cue import LastLine, cue, cued
from techniques.parts.guards import Strictness
from techniques.parts.keys import keyed
from techniques.parts.parities import BLIND
from techniques.phases.attempt import Attempt, progress
from techniques.phases.branching import uncombined
from techniques.phases.decoding import Codeword, Decoded
from techniques.phases.drafting import drafted
from techniques.phases.single import collapsed
from techniques.phases.writing import written

Decode: TypeAlias = Literal["auto", "llm"]

_LEAST_CALLS: Final = 3  # the answer, a parity, and what decides between them


@dataclass(frozen=True, slots=True)
class Coding:
    """How much redundancy, and how it is used.

    Attributes:
        blind: How many work the request out again without sight of the answer.
        checks: How many look at the answer, where results cannot be compared exactly.
        decode: Where they can, they are voted on (auto), or a model compares all the same (llm).
        guard: How a correction that is written anew is guarded.
    """

    blind: int
    checks: int
    decode: Decode = "auto"
    guard: Strictness = "cheap"


def protect(attempt: Attempt, settings: Coding) -> AsyncGenerator[Event, None]:
    """Answer, have that worked out again and checked beside, and commit it with errors corrected.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: Nothing usable was drawn; the failure that tells most. Or the writing of a
            correction broke off after some of it was seen.
    """
    return _protect(attempt, settings) if attempt.enough(_LEAST_CALLS) else collapsed(attempt)


async def _protect(attempt: Attempt, settings: Coding) -> AsyncGenerator[Event, None]:
    yield progress("drafting")
    drawing = _Drawing(attempt, settings)
    await drawing.draw()
    as_drawn = drawing.as_drawn()
    for event in as_drawn:
        yield event
    if as_drawn:
        return
    word = drawing.codeword()
    if not drawing.votes or word.agreed() is None:
        for event in attempt.improved(word.main):
            yield event
        yield progress("checking")
    decoded = await drawing.decoded(word)
    yield Note("parity", drawing.result(decoded))
    if isinstance(decoded.answer, Reply):
        for event in attempt.committed(decoded.answer):
            yield event
        return
    yield progress("writing")
    async with aclosing(written(attempt, decoded.answer)) as events:
        async for event in events:
            yield event


class _Drawing:
    """The answer, and those who work the request out again without sight of it.

    Attributes:
        votes: Their results can be compared exactly, and are.
    """

    def __init__(self, attempt: Attempt, settings: Coding) -> None:
        self.votes = keyed(attempt.expected.text) and settings.decode == "auto"
        self._attempt = attempt
        self._settings = settings
        self._line = LastLine(cue(attempt.expected))
        self._first = attempt.channels.primary
        self._draws: list[Draw] = []
        self._final: Reply | None = None

    async def draw(self) -> None:
        """Draw all at once, and cut off who can no longer change the outcome of a vote.

        Where a tool may be called the answer comes first: one that acts needs nothing beside it.
        """
        attempt = self._attempt
        if attempt.expected.kind == "tool":
            draft = await drafted(attempt)
            self._first, self._final = draft.member, draft.reply if draft.final else None
            self._draws = [attempt.sift(0, draft.reply)]
        done = len(self._draws)
        deciding = 1  # call that must be left when all have answered
        count = attempt.affordable(1 + self._settings.blind - done + deciding) - deciding
        if self._final is not None or count < 1:
            return
        async with attempt.asking([self._call(done + place) for place in range(count)]) as answers:
            async for answered in answers:
                self._draws.append(attempt.sift(done + answered.place, answered.outcome))
                if self._is_decided():
                    break

    def as_drawn(self) -> list[Event]:
        """Return the events of an answer that nothing is held against; none where something is.

        Raises:
            GatewayError: Nothing usable was drawn; the failure that tells most.
        """
        if self._final is not None:
            return list(self._attempt.committed(self._final))
        return uncombined(self._attempt, self._draws, self._line)

    def codeword(self) -> Codeword:
        """Return what was drawn, the answer first; where it was lost, another takes its place."""
        words = [replace(one, reply=self._line.without(one.reply)) for one in self._words]
        return Codeword(self._attempt, self._author(words[0].place), words)

    async def decoded(self, word: Codeword) -> Decoded:
        """Return what comes of *word*: of its results, or of what contradicts it."""
        if self.votes:
            return await word.by_result()
        return await word.by_syndrome(self._settings.checks, self._settings.guard)

    def result(self, decoded: Decoded) -> dict[str, Json]:
        """Return what there is to report. The rate is that of one answer to all that was used."""
        parities = max(0, len(self._words) - 1) + decoded.checks
        return {"by": decoded.by, "parities": parities, "effective_rate": 1 / (1 + parities)}

    @property
    def _words(self) -> list[Candidate]:
        found = (draw for draw in self._draws if isinstance(draw, Candidate))
        answers = (one for one in found if not one.reply.tool_calls)
        return sorted(answers, key=lambda one: one.place)

    def _author(self, place: int) -> Member:
        return self._attempt.another(self._first) if place else self._first

    def _call(self, place: int) -> Asking:
        request = self._attempt.request
        if place:
            choice = ToolChoice("none") if request.tools else None
            request = replace(cued(request, BLIND[place - 1]), tool_choice=choice)
        member = self._author(place)
        spread = self._attempt.spread(None)
        return Asking(member, spread.draw(self._line.wanted(request), member, place))

    def _is_decided(self) -> bool:
        """Whether the answer is there, and two of those drawn agree."""
        there = any(draw.place == 0 for draw in self._draws)
        return self.votes and there and bool(self._words) and self.codeword().agreed() is not None
