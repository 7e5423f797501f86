"""Frames of a stream: each names its type twice, and has the number after the last one's."""

from __future__ import annotations

from techniques.core.json import JsonObject
from techniques.core.lines import on_a_line


class Events:
    """Writes the frames of one stream. ``next`` is the number of the one that comes next."""

    def __init__(self) -> None:
        self.next = 0

    def write(self, kind: str, body: JsonObject) -> bytes:
        """Return a frame of that *kind*."""
        data = on_a_line({"type": kind, **body, "sequence_number": self.next})
        self.next += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    def piece(self, head: bytes, text: str, tail: bytes = b"") -> bytes:
        """Return a frame of a delta: what ``head_of`` gave, *text* and what stands behind it."""
        number = self.next
        self.next += 1
        return b'%b%b%b,"sequence_number":%d}\n\n' % (head, on_a_line(text), tail, number)


def head_of(kind: str, place: JsonObject) -> bytes:
    """Return what all deltas of that *kind* at one *place* begin with."""
    opened = on_a_line({"type": kind, **place})[:-1]
    return b'event: %b\ndata: %b,"delta":' % (kind.encode(), opened)


def comment(name: str, body: JsonObject) -> bytes:
    """Return a comment, which clients skip."""
    return b": %b %b\n\n" % (name.encode(), on_a_line(body))
