"""Unpacks a body that came packed although nobody asked for that: a step at a time, never at once.

A few bytes may unpack to a thousand times their size; how much of it is wanted, the reader says
by how often it asks.
"""

from __future__ import annotations

import zlib
from typing import Final

from gateway.upstream.faults import broken

CODINGS: Final = ("gzip", "x-gzip", "deflate")
_WINDOW: Final = zlib.MAX_WBITS | 32  # zlib's or gzip's header, as it comes
_STEP: Final = 256 * 1024  # bytes unpacked at once
_SLICE: Final = 8 * 1024  # packed bytes looked at at once: a member's rest is copied


class Packed:
    """A body in gzip's form, of several members it may be, or zlib's."""

    def __init__(self) -> None:
        self._unpacking = zlib.decompressobj(_WINDOW)
        self._left = b""
        self._at = 0  # how far ``_left`` was unpacked
        self._more = False  # whether zlib holds something back
        self._begun = False

    @property
    def whole(self) -> bool:
        """Whether what came so far may be all."""
        return self._unpacking.eof or not self._begun

    def unpack(self, data: bytes) -> bytes:
        """Take *data*, all before it being taken, and return the next step: see ``take``."""
        self._left, self._at, self._begun = data, 0, True
        return self.take()

    def take(self) -> bytes:
        """Return some of what came, ``b""`` when more must come first.

        Raises:
            UpstreamFailed: It is not packed, or broken.
        """
        try:
            while self._more or self._at < len(self._left):
                if step := self._step():
                    return step
        except zlib.error as error:
            raise broken(error) from error
        return b""

    def _step(self) -> bytes:
        part = self._left[self._at : self._at + _SLICE]
        if self._unpacking.eof:
            filled = part.lstrip(b"\0")  # gzip may be filled up with zeros
            self._at += len(part) - len(filled)
            if not filled:
                return b""
            part, self._unpacking = filled, zlib.decompressobj(_WINDOW)
        step = self._unpacking.decompress(part, _STEP)
        self._more = len(step) == _STEP and not self._unpacking.eof
        rest = self._unpacking.unconsumed_tail or self._unpacking.unused_data
        self._at += len(part) - len(rest)
        return step
