"""An answer with its vectors apart: they are most of it, and nobody has to read them.

A large answer is some tens of megabytes. What is done with it is done as it comes, a piece at a
time, and its numbers are looked at only where they are to be written otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from gateway.upstream.embeddings.vectors import Change, is_finite
from techniques.core.json import Json

_VECTOR: Final = re.compile(rb'"embedding"\s*:\s*(?=["\[])')
_KEY: Final = 64
"""Bytes in which the key of a vector, cut off, is surely whole again."""
_CLOSES: Final = {b"[": b"]", b'"': b'"'}
_PIECE: Final = 256 * 1024
"""Bytes that are handed on at a time."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """``frame`` are the bytes around the ``vectors``: one more than these.

    ``finite``: all numbers are some.
    """

    frame: Sequence[bytes] = (b"",)
    vectors: Sequence[bytes] = ()
    finite: bool = True

    def pieces(self) -> Iterator[bytes]:
        """Yield the answer, in pieces that can be handed on."""
        return grouped(_woven(self.frame, self.vectors))

    def value(self) -> Json:
        """Return the answer, in which each vector is only its place in ``vectors``.

        One whose vectors are no plain lists has them as they are.

        Raises:
            ValueError: It is not JSON.
        """
        places = [b"%d" % place for place in range(len(self.vectors))]
        try:
            return orjson.loads(b"".join(_woven(self.frame, places)))
        except ValueError:
            return orjson.loads(b"".join(_woven(self.frame, self.vectors)))


class Scanner:
    """Takes the vectors out of bytes that may be cut anywhere; *change* writes each."""

    def __init__(self, change: Change | None = None) -> None:
        self._change = change
        self._frame: list[bytes] = []
        self._vectors: list[bytes] = []
        self._finite = True
        self._open = bytearray()  # of the frame, since the last vector
        self._held = bytearray()
        self._seen = 0  # how far the vector that ``_held`` begins with was searched for its end

    def feed(self, chunk: bytes) -> None:
        """Take *chunk*."""
        self._held += chunk
        while self._take():
            pass

    def sheet(self) -> Sheet:
        """Return the answer, all of which has come."""
        return Sheet((*self._frame, bytes(self._open + self._held)), self._vectors, self._finite)

    def _take(self) -> bool:
        """Take one vector out of what is held, if a whole one is there."""
        held = self._held
        if not self._seen and not self._begin():
            return False
        end = held.find(_CLOSES[bytes(held[:1])], self._seen)
        if end < 0:
            self._seen = len(held)
            return False
        vector = bytes(held[: end + 1])
        self._finite = self._finite and is_finite(vector)
        self._vectors.append(vector if self._change is None else self._change(vector))
        self._frame.append(bytes(self._open))
        self._open.clear()
        del held[: end + 1]
        self._seen = 0
        return True

    def _begin(self) -> bool:
        """Put what stands before the next vector into the frame; return whether there is one."""
        held = self._held
        found = _VECTOR.search(held)
        known = found.end() if found else max(len(held) - _KEY, 0)
        self._open += held[:known]
        del held[:known]
        self._seen = 1 if found else 0
        return bool(found)


def scanned(pieces: Iterable[bytes]) -> Sheet:
    """Return what *pieces* are together, with its vectors apart."""
    scanner = Scanner()
    for piece in pieces:
        scanner.feed(piece)
    return scanner.sheet()


def grouped(small: Iterable[bytes]) -> Iterator[bytes]:
    """Yield what *small* pieces are together, in larger ones; at least one."""
    group: list[bytes] = []
    size = 0
    for piece in small:
        if size and size + len(piece) > _PIECE:
            yield b"".join(group)
            group, size = [], 0
        group.append(piece)
        size += len(piece)
    yield b"".join(group)


def _woven(frame: Sequence[bytes], between: Sequence[bytes]) -> Iterator[bytes]:
    for piece, inner in zip(frame, between, strict=False):
        yield piece
        yield inner
    yield frame[-1]
