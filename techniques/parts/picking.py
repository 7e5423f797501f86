"""A judge's view of many answers at once: which one is the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from techniques.core.reply import Reply
from techniques.core.request import Request
from techniques.parts.aside import Aside, Purpose
from techniques.parts.structured import object_schema, read_object
from techniques.parts.transcript import LONGEST, answer_shown

_DIGITS: Final = 10


def pick_request(aside: Aside, order: Sequence[Reply]) -> Request:
    """Return the request that asks which of *order*, at least two, is the best.

    The more there are, the less is shown of one that is very long.

    Source: Toshniwal et al. 2025, arXiv:2507.17797 (generative selection).
    """
    longest = 2 * LONGEST // len(order)
    answers = (
        aside.fence.around(f"answer {number}", answer_shown(reply, longest))
        for number, reply in enumerate(order, 1)
    )
    task = _TASK.format(count=len(order))
    return aside.request(_PICKING, task, aside.conversation(), *answers)


def read_pick(text: str, many: int) -> int | None:
    """Return the index of the one that a judge's reply picks of *many*; None if it is unclear."""
    best = (read_object(text) or {}).get("best")
    number = best
    if isinstance(best, str) and len(best) < _DIGITS and best.strip().isdecimal():
        number = int(best)
    return number - 1 if type(number) is int and 0 < number <= many else None


_TASK: Final = """\
{count} answers to the last request of a conversation are given. Work the task out for yourself, \
then go through all of them and find the one that serves the person who asked best. Being right \
counts most; that many say the same does not make it right. Their order, length and layout count \
nothing.
Reply with a JSON object only: {{"reason": at most 40 words, "best": the number of that answer}}."""

_PICKING: Final = Purpose(
    "judge",
    700,
    object_schema({"reason": {"type": "string"}, "best": {"type": "integer"}}),
)
