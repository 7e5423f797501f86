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

from gateway.upstream.embeddings.vectors import Form, change_to, is_finite, is_form
from gateway.upstream.faults import endless
from techniques.core.json import Json

_VECTOR: Final = re.compile(rb'"embedding"\s*:\s*(?=["\[])')
_KEY: Final = 64
"""Bytes in which the key of a vector, cut off, is surely whole again."""
_CLOSES: Final = {ord("["): b"]", ord('"'): b'"'}
_FORMS: Final[dict[int, Form]] = {ord("["): "float", ord('"'): "base64"}
_MOST_FRAME: Final = 64 * 2**20
"""Bytes around all vectors of an answer; the rest of one that is a list of lists is among them."""
_PIECE: Final = 64 * 1024
"""Bytes that are handed on at a time, at least: what comes in as many is not copied."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """``frame`` are the bytes around the ``vectors``: one more than these.

    ``finite``: all numbers are some.
    """

    frame: Sequence[bytes] = (b"",)
    vectors: Sequence[bytes] = ()
    finite: bool = True

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
    """Takes the vectors out of bytes that may be cut anywhere.

    With *wanted* none is kept, and the answer can be handed on with all of them in that form: as it
    came where the first is in it, for then all are taken to be.
    """

    def __init__(self, wanted: Form | None = None) -> None:
        self._wanted = wanted
        self._change = None if wanted is None else change_to(wanted)
        self._passes: bool | None = None  # whether it can go as it came; None before a vector
        self._ready: list[bytes] = []  # to be handed on
        self._group: list[bytes] = []  # to be ready when it is large enough
        self._frame: list[bytes] = []
        self._vectors: list[bytes] = []
        self._finite = True
        self._open: list[bytes] = []  # of the frame, since the last vector
        self._framed = 0  # bytes of it that came
        self._held = b""  # of the frame, in which a key may be cut off
        self._close = b""  # what ends the vector that has begun
        self._parts: list[bytes] = []  # of that

    def feed(self, chunk: bytes) -> None:
        """Take *chunk*; what there is to write otherwise in it is written now.

        Raises:
            UpstreamFailed: It is not vectors that it goes on and on with.
        """
        if self._wanted is not None and self._passes is not False:
            self._ready.append(chunk)
        at = 0
        if self._close:
            at = self._go_on(chunk, 0, 0)
        else:
            chunk, self._held = self._held + chunk, b""
        while at >= 0:
            found = _VECTOR.search(chunk, at)
            if found is None:
                known = max(len(chunk) - _KEY, at)
                self._around(chunk[at:known])
                self._held = chunk[known:]
                return
            self._around(chunk[at : found.end()])
            self._begin(chunk[found.end()])
            at = self._go_on(chunk, found.end(), found.end() + 1)

    @property
    def cut(self) -> bool:
        """Whether a vector has begun that has not ended."""
        return bool(self._close)

    def sheet(self) -> Sheet:
        """Return the answer, all of which has come."""
        return Sheet((*self._frame, self._rest()), self._vectors, self._finite)

    def pieces(self) -> Iterator[bytes]:
        """Yield the answer as it was wanted, in pieces that can be handed on."""
        if self._passes is not False:
            return grouped(self._ready)
        return iter((*self._ready, b"".join((*self._group, self._rest()))))

    def _around(self, piece: bytes) -> None:
        self._open.append(piece)
        self._framed += len(piece)
        if self._framed > _MOST_FRAME:
            raise endless()

    def _rest(self) -> bytes:
        return b"".join((*self._open, self._held, *self._parts))

    def _begin(self, opens: int) -> None:
        self._close = _CLOSES[opens]
        if self._passes is None and self._wanted is not None:
            self._passes = self._wanted == _FORMS[opens]
            if not self._passes:
                self._ready.clear()

    def _go_on(self, chunk: bytes, start: int, look: int) -> int:
        """Take the vector that begins, or goes on, at *start*; return where it ends, -1 if not."""
        end = chunk.find(self._close, look) + 1
        stop = end or len(chunk)
        if self._close == b"]":
            self._finite = self._finite and is_finite(chunk, start, stop)
        if not self._passes:
            self._parts.append(chunk[start:stop])
        if not end:
            return -1
        self._close = b""
        self._end(b"".join(self._open), b"".join(self._parts))
        self._open.clear()
        self._parts.clear()
        return end

    def _end(self, frame: bytes, vector: bytes) -> None:
        self._frame.append(frame)
        if self._change is None:
            self._vectors.append(vector)
            return
        self._vectors.append(b"")
        if not self._passes:
            changed = self._change(vector)
            if self._wanted is not None and vector[:1] != b"[":
                self._finite = self._finite and is_form(changed, self._wanted)
            self._group += (frame, changed)
            if sum(map(len, self._group)) >= _PIECE:
                self._ready.append(b"".join(self._group))
                self._group.clear()


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
    yield group[0] if len(group) == 1 else b"".join(group)


def _woven(frame: Sequence[bytes], between: Sequence[bytes]) -> Iterator[bytes]:
    for piece, inner in zip(frame, between, strict=False):
        yield piece
        yield inner
    yield frame[-1]
