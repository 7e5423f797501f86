"""Draws answers that are to differ in more than their seed, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from techniques.core.channel import Member
from techniques.core.events import Event, Note
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.candidates import Candidate, Draw, declined, failure, tally, usable
from techniques.parts.cue import LastLine
from techniques.parts.sampling import Spread
from techniques.phases.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Branch:
    """One way to draw an answer: who is asked, and what.

    One that is ``hot`` is drawn so freely that it is not to weigh more than most others.
    """

    member: Member
    request: Request
    hot: bool = False


async def drawn(
    attempt: Attempt,
    branches: Sequence[Branch],
    spread: Spread,
    *,
    first: int = 0,
    read: Callable[[int, Reply], Reply] = lambda _place, reply: reply,
) -> list[Draw]:
    """Draw once on each of *branches* and return how that ended; their places begin at *first*.

    *read* makes a reply, and the place of its draw, ready for being looked at.
    """
    places = range(first, first + len(branches))
    calls = [
        Asking(branch.member, spread.draw(branch.request, branch.member, place))
        for place, branch in zip(places, branches, strict=True)
    ]
    outcomes = await attempt.ask(calls)
    return [
        attempt.sift(place, read(place, outcome) if isinstance(outcome, Reply) else outcome)
        for place, outcome in zip(places, outcomes, strict=True)
    ]


def uncombined(attempt: Attempt, draws: Sequence[Draw], line: LastLine) -> list[Event]:
    """Return the events of a reply that is committed as it was drawn; none where one is made.

    That is a refusal where enough of *draws* declined, and, where none gave an answer, a reply
    that was cut off or, if the caller did not insist on its form, breaks it. Such ones are no
    material for another.

    Raises:
        GatewayError: There is nothing to commit; the failure that tells most.
    """
    refusal = declined(draws)
    if refusal is not None:
        return [attempt.refused(draws), *attempt.committed(refusal)]
    if any(isinstance(draw, Candidate) for draw in draws):
        return []
    poor = usable(draws, strict=attempt.checks.strict)
    if not poor:
        raise failure(draws)
    note = Note("draws", tally(draws))
    return [note, *attempt.committed(line.without(poor[0].reply))]
