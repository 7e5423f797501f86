"""What a technique for several models makes of its pool."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from techniques.core.channel import Member
from techniques.core.errors import RequestRejected
from techniques.core.events import Event
from techniques.parts.transcript import pictures
from techniques.phases.attempt import Attempt
from techniques.phases.single import collapsed


def accuracies(attempt: Attempt, members: Sequence[Member]) -> dict[str, float]:
    """Return how often each of *members*, by id, is right with what is asked for.

    Empty unless it was measured of all of them: what is not known is not the worst.
    """
    kind = attempt.expected.text
    measured = {
        member.id: attempt.task.calibration.accuracy(member.name, kind) for member in members
    }
    known = {name: value for name, value in measured.items() if value is not None}
    return known if len(known) == len(measured) else {}


def strongest(attempt: Attempt) -> Member | None:
    """Return the most accurate member of the pool, the first one where that was not measured.

    It sees the pictures of the request, if there are any; None if no member can.
    """
    seen = bool(pictures(attempt.request))
    able = [one for one in attempt.channels.pool if one.capabilities.vision or not seen]
    known = accuracies(attempt, attempt.channels.pool)
    return max(able, key=lambda member: known.get(member.id, 0.0), default=None)


def of_many(attempt: Attempt) -> Attempt:
    """Return *attempt*, with a warning if its pool has only one model."""
    if len(attempt.channels.pool) < 2:
        attempt.warn("one_model", "All draws come from one model; they err alike.")
    return attempt


def without_others(attempt: Attempt) -> AsyncGenerator[Event, None]:
    """Pass on a plain call, with a warning: the technique makes no sense with one model.

    Raises:
        RequestRejected: The caller is strict about it.
    """
    if attempt.request.strict:
        message = f"{attempt.technique} is for several models, and no second one was named."
        raise RequestRejected(message, code="technique_masked")
    attempt.warn("technique_masked", f"{attempt.technique}: the pool has one model")
    return collapsed(attempt)
