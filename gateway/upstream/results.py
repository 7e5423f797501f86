"""Brings calls of tools next to their results, for APIs that take them only so.

Clients of the Responses API may say something between a call and what it gave, and may send a
result again with every request that goes on with an earlier one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from techniques.core.request import Message, Part, Role, ToolCall, ToolResult

_NOBODY: Final = -1
_FREE: Final = -2


@dataclass(slots=True)
class _Turn:
    """A turn as it will be told. ``homes`` are the places of the turns that its results are of."""

    message: Message
    parts: list[Part]
    homes: list[int]
    moved: bool = False

    def told(self) -> Iterator[Message]:
        """Yield what is left of it."""
        if self.moved or (self.message.parts and not self.parts):
            return
        same = len(self.parts) == len(self.message.parts)
        yield self.message if same else replace(self.message, parts=tuple(self.parts))

    def side(self, between: Collection[Role]) -> int:
        """Return whose results it has, if it may stand between a call and those."""
        homes = set(self.homes) - {_NOBODY}
        may_stand = self.message.role in between
        if not homes and may_stand:
            return _FREE
        only = len(homes) == 1 and (may_stand or _NOBODY not in self.homes)
        return homes.pop() if only else _NOBODY


def together(messages: Sequence[Message], between: Collection[Role] = ()) -> Sequence[Message]:
    """Return *messages* with nothing between the turns that call and their results.

    A turn whose results come later is said right before them, unless only turns of the roles
    *between* keep them apart. A result whose call nobody made stays where it is; one that is said
    again, word for word, is left out.
    """
    if not any(isinstance(part, ToolResult) for one in messages for part in one.parts):
        return messages
    turns = list(_owned(messages))
    groups = _groups(turns, between)
    if not groups and all(len(one.parts) == len(one.message.parts) for one in turns):
        return messages
    told: list[Message] = []
    for place, turn in enumerate(turns):
        for group in groups.get(place, ()):
            told += group
        told += turn.told()
    return told


def _owned(messages: Sequence[Message]) -> Iterator[_Turn]:
    """Yield the turns, without what is said again."""
    waiting: dict[str, int] = {}
    given: dict[str, ToolResult] = {}
    for place, message in enumerate(messages):
        turn = _Turn(message, [], [])
        for part in message.parts:
            home = _NOBODY
            if isinstance(part, ToolResult):
                home = waiting.pop(part.call_id, _NOBODY)
                if home == _NOBODY and given.get(part.call_id) == part:
                    continue
                if home != _NOBODY:
                    given[part.call_id] = part
            turn.parts.append(part)
            turn.homes.append(home)
        waiting.update((part.id, place) for part in turn.parts if isinstance(part, ToolCall))
        yield turn


def _groups(
    turns: Sequence[_Turn], between: Collection[Role]
) -> Mapping[int, list[tuple[Message, Message]]]:
    """Take out what stands apart, and return it by the place where it is told instead."""
    apart = _apart(turns, between)
    results: dict[int, list[Part]] = {home: [] for home in apart}
    for turn in turns if apart else ():
        owned = list(zip(turn.parts, turn.homes, strict=True))
        for part, home in owned:
            if home in apart:
                results[home].append(part)
        turn.parts = [part for part, home in owned if home not in apart]
    groups: dict[int, list[tuple[Message, Message]]] = {}
    for home, end in sorted(apart.items()):
        turns[home].moved = True
        said = (turns[home].message, Message("tool", tuple(results[home])))
        groups.setdefault(end, []).append(said)
    return groups


def _apart(turns: Sequence[_Turn], between: Collection[Role]) -> Mapping[int, int]:
    """Return the turns that call and are not next to all of their results, and where these end."""
    ends = {home: place for place, turn in enumerate(turns) for home in turn.homes}
    ends.pop(_NOBODY, None)
    runs = list(_runs([turn.side(between) for turn in turns])) if ends else []
    return {
        home: end
        for home, end in ends.items()
        if set(_answered(turns[end])) != {home} or not _reaches(runs[end - 1], home)
    }


def _answered(turn: _Turn) -> Iterator[int]:
    for part, home in zip(turn.parts, turn.homes, strict=True):
        if isinstance(part, ToolResult):
            yield home


def _reaches(run: tuple[int, int], home: int) -> bool:
    begin, owner = run
    return begin <= home + 1 and owner in {home, _FREE}


def _runs(sides: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield, for each place, where the turns before it begin that have one call's results alone.

    With it comes the turn of that call.
    """
    begin, owner, last = 0, _FREE, _NOBODY
    for place, side in enumerate(sides):
        if side == _NOBODY:
            begin, owner = place + 1, _FREE
        elif side != _FREE:
            if owner not in {side, _FREE}:
                begin = last + 1
            owner, last = side, place
        yield begin, owner
