"""A first draft that keeps to the form: repaired a few times, from the next model if need be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from techniques.core.channel import Member
from techniques.core.fanout import Asking
from techniques.core.reply import Reply
from techniques.core.request import (
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Request,
    Text,
    Thinking,
    ToolResult,
)
from techniques.parts.candidates import Candidate, Draw, Erasure, declined, failure, usable
from techniques.parts.checks import form_broken
from techniques.parts.critique import repair
from techniques.phases.attempt import Attempt

_REPAIRS: Final = 2
_MENDABLE: Final = frozenset({"invalid", "forbidden"})


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and who wrote it. One that is ``final`` is to be committed as it is."""

    reply: Reply
    member: Member
    final: bool


async def drafted(attempt: Attempt) -> Draft:
    """Return a first draft, by the first model of the pool that gives one.

    A tool call that keeps to the form is an action and final, and so is a refusal.

    Raises:
        GatewayError: No model gave a usable draft; the failure that tells most.
    """
    draws: list[Draw] = []
    for place, member in enumerate(attempt.channels.pool):
        if place and not attempt.affords(1):
            break
        if place:
            attempt.warn("failover", member.id)
        draw = await _by(attempt, member, place)
        draws.append(draw)
        if isinstance(draw, Candidate):
            return Draft(draw.reply, member, final=draw.refusal or bool(draw.reply.tool_calls))
        if draw.reply is not None and draw.lost != "empty":
            return _poor(attempt, draws, member)
    raise failure(draws)


def visible(reply: Reply) -> tuple[Part, ...]:
    """Return the parts of *reply* without its thinking, to be shown to the model again."""
    return tuple(part for part in reply.parts if not _thought(part))


def _thought(part: Part) -> bool:
    return isinstance(part, Thinking | RedactedThinking) or (
        isinstance(part, Opaque) and part.thinking
    )


def objected(request: Request, reply: Reply, objection: str) -> Request:
    """Return *request* with *reply* and an *objection* to it at the end.

    To tool calls the objection is their result: a conversation may not go on without one.
    """
    turn = Message("assistant", visible(reply))
    words = (Text(objection),)
    if not reply.tool_calls:
        return request.with_turns(turn, Message("user", words))
    results = tuple(ToolResult(call.id, words, is_error=True) for call in reply.tool_calls)
    return request.with_turns(turn, Message("tool", results))


async def _by(attempt: Attempt, member: Member, place: int) -> Draw:
    request = replace(attempt.request, stream=False, role="candidate", step=f"d{place}")
    draw = await _one(attempt, member, request, place)
    for tried in range(_REPAIRS):
        if not isinstance(draw, Erasure) or draw.lost not in _MENDABLE or draw.reply is None:
            break
        if not attempt.affords(1):
            break
        objection = repair(attempt.checks.defects(draw.reply))
        again = objected(attempt.request, draw.reply, objection)
        again = replace(again, stream=False, role="refine", step=f"f{place}{'ab'[tried]}")
        repaired = await _one(attempt, member, again, place)
        if isinstance(repaired, Candidate) or repaired.lost in _MENDABLE:
            draw = repaired
    return draw


async def _one(attempt: Attempt, member: Member, request: Request, place: int) -> Draw:
    (outcome,) = await attempt.ask([Asking(member, request)])
    return attempt.sift(place, outcome)


def _poor(attempt: Attempt, draws: list[Draw], member: Member) -> Draft:
    """Return the last of *draws*, which says something but was cut off, filtered or is invalid."""
    last = draws[-1:]
    kept = declined(last)
    if kept is None:
        found = usable(last, strict=attempt.checks.strict)
        if not found:
            raise form_broken()
        kept = found[0].reply
    if attempt.checks.lost(kept) == "invalid":
        attempt.warn("invalid_answer", "; ".join(attempt.checks.defects(kept)))
    return Draft(kept, member, final=True)
