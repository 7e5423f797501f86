"""Remembers cuts by how a conversation began, so that it is cut alike at every further turn.

Clients know nothing of a cut and send all they have each time. The same cut gives the provider the
same beginning to keep in its cache, and a summary is paid once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import orjson

from gateway.context.cut import NOTHING, Cut
from gateway.context.rules import Method
from techniques.core.request import Message, Part, ToolResult

_MOST: Final = 2048
_LONGEST: Final = 64 * 2**20
"""Characters of notes that are remembered, of all conversations together."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """The last cut of a conversation, and how it was made.

    ``turn`` is that of the last attempt at one, also of an attempt that came to nothing.
    """

    cut: Cut = NOTHING
    method: Method | None = None
    turn: int | None = None

    def written(self) -> str:
        """Return this as JSON."""
        return orjson.dumps(self).decode()


def remembered(text: str) -> Remembered:
    """Return what ``Remembered.written`` wrote."""
    found = orjson.loads(text)
    return Remembered(Cut(**found["cut"]), found["method"], found["turn"])


class Memory:
    """The last cuts of conversations, the least used forgotten first."""

    def __init__(self, most: int = _MOST, longest: int = _LONGEST) -> None:
        self._most = most
        self._longest = longest
        self._length = 0
        self._cuts: OrderedDict[bytes, Remembered] = OrderedDict()

    def find(self, begun: Begun) -> Remembered:
        """Return the cut that reaches furthest into what has *begun* so."""
        for key in reversed(begun.keys[1:]):
            if key in self._cuts:
                self._cuts.move_to_end(key)
                return self._cuts[key]
        return Remembered()

    def keep(self, begun: Begun, reach: int, known: Remembered) -> None:
        """Remember *known* of all that begins with the first *reach* messages of *begun*."""
        key = begun.keys[reach]
        before = self._cuts.pop(key, None)
        self._cuts[key] = known
        self._length += len(known.cut.note) - (len(before.cut.note) if before else 0)
        while len(self._cuts) > self._most or self._length > self._longest:
            _, old = self._cuts.popitem(last=False)
            self._length -= len(old.cut.note)


class Begun:
    """How a conversation of *whose* begins, up to each of its messages.

    ``keys`` has one more item than *messages*, which are those without the operator's: a prompt
    that tells the time is another in each turn. Nor do marks for a cache count; they move.
    """

    def __init__(self, whose: str, messages: Sequence[Message]) -> None:
        digest = blake2b(repr(whose).encode(), digest_size=16)
        self.keys = [digest.digest()]
        for message in messages:
            digest.update("\0".join(_spelled(message)).encode("utf-8", "surrogatepass"))
            self.keys.append(digest.digest())


def _spelled(message: Message) -> Iterator[str]:
    yield f"\1{message.role}"
    for part in message.parts:
        yield from _part(part)


def _part(part: Part) -> Iterator[str]:
    yield type(part).__name__
    if isinstance(part, ToolResult):
        yield part.call_id
        for inner in part.parts:
            yield from _part(inner)
        return
    for name in part.__dataclass_fields__:
        if name not in ("cache", "extra"):
            yield repr(getattr(part, name))
