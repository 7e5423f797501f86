"""How sure a model is of an answer, among all that it gives."""

from __future__ import annotations

from techniques.core.channel import Member
from techniques.core.reply import Reply
from techniques.parts.confidence import token_sureness
from techniques.phases.attempt import Attempt


def ranked_sureness(attempt: Attempt, member: Member, reply: Reply) -> float | None:
    """Return which share of the answers of *member* it was less sure of than of *reply*.

    Where that was not measured, the bare probability of its tokens, with a warning; None if
    *reply* does not tell.
    """
    bare = token_sureness(reply)
    if bare is None:
        return None
    rank = attempt.task.calibration.rank(member.name, bare)
    if rank is None:
        attempt.warn("uncalibrated", member.model)
    return bare if rank is None else rank


def is_calibrated(attempt: Attempt, member: Member) -> bool:
    """Tell whether it was measured how sure *member* is as a rule."""
    return attempt.task.calibration.rank(member.name, 1.0) is not None
