"""Choosing: draw all answers at once, show them to a judge together, commit the one it picks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.json import Json
from techniques.core.reply import Reply
from techniques.parts.agree import contenders, elect, unanimous
from techniques.parts.candidates import Candidate, Draw, declined, failure, tally, usable
from techniques.parts.ideas import ideas_request, read_ideas, with_idea
from techniques.parts.programs import Suite
from techniques.parts.sampling import Spread
from techniques.phases.attempt import Attempt, progress
from techniques.phases.branching import Branch, drawn
from techniques.phases.judging import picked
from techniques.phases.single import collapsed
from techniques.phases.trial import Trials, sound

_LEAST: Final = 2  # answers: with fewer there is nothing to choose from
_PICKS: Final = 2


@dataclass(frozen=True, slots=True)
class Choosing:
    """How to choose.

    Attributes:
        samples: How many draws.
        temperature: That of all draws but the first.
        everyone: Go round all models of the pool.
        ideas: Ask for ideas while the first answer is drawn; the other draws each carry one out.
        tests: What an answer's program must pass; no judge is then asked.
    """

    samples: int
    temperature: float
    everyone: bool = False
    ideas: bool = False
    tests: Suite | None = None


def choose(attempt: Attempt, settings: Choosing) -> AsyncGenerator[Event, None]:
    """Draw answers at once and commit the one that passes the tests, or that a judge picks.

    Raises:
        CapReached: The caps leave no call to make.
        GatewayError: No draw was usable; the failure that tells most.
    """
    others = settings.ideas + (_PICKS if settings.tests is None else 0)
    alone = settings.samples < _LEAST or not attempt.enough(_LEAST + others)
    return collapsed(attempt) if alone else _choose(attempt, settings)


async def _choose(attempt: Attempt, settings: Choosing) -> AsyncGenerator[Event, None]:
    spread = attempt.spread(settings.temperature)
    ideas: list[str] = []
    draws: list[Draw] = []
    if settings.ideas:
        yield progress("planning")
        ideas, first = await _planned(attempt, settings.samples - 1, spread)
        draws.append(first)
    yield progress("sampling", done=len(draws), most=settings.samples)
    branches = _branches(attempt, settings, ideas, len(draws))
    draws += await drawn(attempt, branches, spread, first=len(draws))
    reply = declined(draws)
    if reply is not None:
        yield attempt.refused(draws)
    else:
        choice = _Choice(attempt, draws, settings.tests)
        for event in attempt.improved(choice.first):
            yield event
        yield progress("judging" if choice.trials.tests is None else "testing")
        chosen = await choice.best()
        reply = chosen.reply
        yield Note("choice", {"chosen": chosen.place, "ideas": len(ideas), **choice.result()})
    for event in attempt.committed(reply):
        yield event


async def _planned(attempt: Attempt, many: int, spread: Spread) -> tuple[list[str], Draw]:
    """Return up to *many* ideas, and the draw that is made meanwhile as the client asks.

    No ideas, with a warning, if they cannot be had or read.
    """
    member = attempt.channels.primary
    calls = [
        Asking(member, ideas_request(attempt.aside(member, "i0"), many)),
        Asking(member, spread.draw(attempt.request, member, 0)),
    ]
    plan, outcome = await attempt.ask(calls)
    ideas = read_ideas(plan.text, many) if isinstance(plan, Reply) else []
    if not ideas:
        attempt.warn("plan_unusable", "i0")
    return ideas, attempt.sift(0, outcome)


def _branches(
    attempt: Attempt, settings: Choosing, ideas: Sequence[str], done: int
) -> list[Branch]:
    """Return what to draw after the *done* draws: by each of *ideas*, then as the client asks.

    As many as leave room for the judge.
    """
    picks = _PICKS if settings.tests is None else 0
    left = settings.samples - done
    count = max(attempt.affordable(left + picks) - picks, 0)
    requests = [with_idea(attempt.request, idea, attempt.fence) for idea in ideas]
    requests += [attempt.request] * (left - len(requests))
    return [
        Branch(attempt.drawer(place, everyone=settings.everyone), request)
        for place, request in enumerate(requests[:count], done)
    ]


class _Choice:
    """The answers of one attempt, among which one is to be chosen."""

    def __init__(self, attempt: Attempt, draws: Sequence[Draw], tests: Suite | None) -> None:
        found = usable(draws, strict=attempt.checks.strict)
        if not found:
            raise failure(draws)
        self.trials = Trials(attempt, tests)
        self._attempt = attempt
        self._draws = draws
        answers = [one for one in found if not one.refusal] or found
        self._answers = [one for one in answers if sound(attempt, one.reply)] or answers

    @property
    def first(self) -> Reply:
        """The first answer, which would be given if nothing more could be done."""
        return self._answers[0].reply

    async def best(self) -> Candidate:
        """Return the answer that passes most of the tests, else the one that the judge picks.

        It is asked only where there is something to choose. Without a pick it is what most agree
        on.
        """
        attempt, answers = self._attempt, self._answers
        await self.trials.run(answers)
        if self.trials.tests is not None:
            return self.trials.best(answers)
        if not unanimous(answers) and attempt.affords(_PICKS):
            order = list(answers)
            attempt.task.random.shuffle(order)
            chosen = await picked(attempt, order)
            if chosen is not None:
                return chosen
        return elect(contenders(answers), attempt.expected).chosen

    def result(self) -> dict[str, Json]:
        """Return what there is to report."""
        return {**self.trials.result(), **tally(self._draws)}
