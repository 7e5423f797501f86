"""Which messages of a conversation belong together, and which of them may go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from techniques.core.request import Document, Message, Part, Text, ToolCall, ToolResult

_RULES: Final = ("system", "developer")


def is_rule(message: Message) -> bool:
    """Tell whether *message* is the operator's word, which always stays."""
    return message.role in _RULES


def grouped(messages: Sequence[Message]) -> list[range]:
    """Return the places of *messages* in groups that stay or go as a whole, in order.

    A message that calls tools is in one group with all their results and what stands between; a
    result belongs to the last call before it that has its id.
    """
    last = list(range(len(messages)))
    called: dict[str, int] = {}
    for place, message in enumerate(messages):
        for part in message.parts:
            if isinstance(part, ToolCall):
                called[part.id] = place
            elif isinstance(part, ToolResult) and part.call_id in called:
                last[called[part.call_id]] = place
    groups: list[range] = []
    start = end = 0
    for place, reach in enumerate(last):
        if place > end:
            groups.append(range(start, end + 1))
            start = place
        end = max(end, reach, place)
    if messages:
        groups.append(range(start, end + 1))
    return groups


def boundaries(messages: Sequence[Message], keep_last: int) -> list[int]:
    """Return the places before which all may go: the ends of groups, without the last of them."""
    starts = [group.start for group in grouped(messages)]
    return starts[1 : max(len(starts) - keep_last, 0) + 1]


def staying(messages: Sequence[Message], pins: Sequence[str]) -> frozenset[int]:
    """Return the places of *messages* that stay wherever the cut is.

    These are the last thing that the user said, and the groups that have one of the texts *pins*.
    """
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    stay = set(asked[-1:])
    kept: set[int] = set()
    for group in grouped(messages):
        if stay & set(group) or any(_has(messages[place], pins) for place in group):
            kept |= set(group)
    return frozenset(kept)


def turn_of(messages: Sequence[Message]) -> int:
    """Return how many answers of the model a conversation has had, and one for that to come."""
    spoke = sum(
        message.role == "assistant" and before.role != "assistant"
        for before, message in pairwise((Message("user", ()), *messages))
    )
    return spoke + 1


def words_of(parts: Sequence[Part]) -> str:
    """Return all that is written in *parts*, results and arguments of tools too, line by line."""
    return "\n".join(filter(None, map(_words, parts)))


def _words(part: Part) -> str:
    match part:
        case Text():
            return part.text
        case ToolCall():
            return part.arguments
        case ToolResult():
            return words_of(part.parts)
        case Document():
            return part.text or ""
        case _:
            return ""


def _has(message: Message, pins: Sequence[str]) -> bool:
    if not pins:
        return False
    words = words_of(message.parts)
    return any(pin in words for pin in pins)
