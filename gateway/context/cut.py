"""A cut, and what it leaves of a conversation. Only whole turns and whole contents go."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.context.turns import is_rule, staying
from techniques.core.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
    Text,
    ToolResult,
    said,
)


@dataclass(frozen=True, slots=True)
class Cut:
    """What goes of a conversation; its messages are counted without the operator's.

    The first ``removed`` are replaced by ``note``, which tells what they were, but for ``lost`` of
    them, of which nothing is left. Tool results and media in the first ``cleared`` are replaced by
    a word each. What stays always is no part of either.
    """

    removed: int = 0
    note: str = ""
    cleared: int = 0
    lost: int = 0

    @property
    def reach(self) -> int:
        """How many messages it depends on."""
        return max(self.removed, self.cleared)

    @property
    def shown(self) -> str:
        """What stands in the place of what was removed."""
        gap = _GAP.format(count=self.lost) if self.lost else ""
        return "\n\n".join(filter(None, (self.note, gap)))


NOTHING = Cut()


def parted(messages: Sequence[Message]) -> list[Message]:
    """Return *messages* without those of the operator."""
    return [message for message in messages if not is_rule(message)]


def applied(
    cut: Cut, messages: Sequence[Message], stay: Collection[int] | None = None
) -> tuple[Message, ...]:
    """Return what *cut* leaves of *messages*.

    *stay* are the places of those that stay in any case, without the operator's counted; None: as
    ``staying`` says.
    """
    if stay is None:
        stay = staying(parted(messages), ())
    left: list[Message] = []
    place = -1
    noted = False
    for message in messages:
        place += not is_rule(message)
        if is_rule(message) or place in stay or place >= cut.reach:
            left.append(message)
        elif place >= cut.removed:
            left.append(cleared(message))
        elif not noted:
            left.append(said("user", cut.shown))
            noted = True
    return tuple(left)


def cleared(message: Message) -> Message:
    """Return *message* with a word in place of each tool result, picture, sound and document."""
    parts = tuple(map(_cleared, message.parts))
    return message if parts == message.parts else replace(message, parts=parts)


def _cleared(part: Part) -> Part:
    match part:
        case ToolResult() if not _is_short(part):
            return replace(part, parts=(Text(_LEFT_OUT.format("result")),))
        case Image() | Audio() | Document():
            return Text(_LEFT_OUT.format(type(part).__name__.lower()), getattr(part, "cache", None))
        case _:
            return part


def _is_short(result: ToolResult) -> bool:
    """Tell whether *result* is no longer than the word in its place would be."""
    texts = [part.text for part in result.parts if isinstance(part, Text)]
    return len(texts) == len(result.parts) and sum(map(len, texts)) <= len(_LEFT_OUT)


_GAP: Final = """\
[{count} earlier messages of this conversation were left out, for it had grown too long. Nothing \
is left of them; ask for what is missing.]"""
_LEFT_OUT: Final = "[{} left out: the conversation has grown too long]"
