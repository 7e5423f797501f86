"""Hashed pieces of words: vectors that need no model, of what letters stand next to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from router_service.embedding.threads import Aside

SIZE: Final = 1024
_PIECES: Final = (3, 4, 5)
_AT_ONCE: Final = 1000
"""Characters that are embedded in the loop; a thread costs nearly as much."""

_Hashes = npt.NDArray[np.uint32]


class HashedPieces:
    """Vectors of 1,024 numbers: each piece of 3 to 5 bytes adds to one place, or takes from it.

    A piece that comes n times counts sqrt(n) times. The vectors are the same on every machine.
    Source: Weinberger et al. 2009, arXiv:0902.2206, section 2 (signed feature hashing).
    """

    name: Final = f"hashed:1:{SIZE}"

    def __init__(self) -> None:
        self._aside = Aside(hashed)

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return the numbers of *text*."""
        return await self._aside(text) if len(text) > _AT_ONCE else hashed(text)


def hashed(text: str, size: int = SIZE) -> Sequence[float]:
    """Return *size* numbers of *text*, whatever its case and its blanks."""
    plain = f" {' '.join(text.lower().split())} ".encode("utf-8", "replace")
    letters = np.frombuffer(plain, np.uint8).astype(np.uint32)
    found = [_mixed(letters, long) for long in _PIECES if len(letters) >= long]
    if not found:
        return [0.0] * size
    pieces, counts = np.unique(np.concatenate(found), return_counts=True)
    signed = np.sqrt(counts) * np.where(pieces >> np.uint32(31), 1.0, -1.0)
    sums: list[float] = np.bincount(pieces % size, signed, size).tolist()
    return sums


def _mixed(letters: _Hashes, long: int) -> _Hashes:
    """Return a hash of each run of *long* of *letters*.

    Source: FNV-1a (Fowler, Noll, Vo), then the first steps of MurmurHash3's finaliser (Appleby).
    """
    count = len(letters) - long + 1
    mixed = np.full(count, 2166136261 ^ long, np.uint32)
    for place in range(long):
        mixed = (mixed ^ letters[place : place + count]) * np.uint32(16777619)
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(0x85EBCA6B)
    return mixed ^ (mixed >> np.uint32(13))
