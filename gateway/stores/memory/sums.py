"""Amounts by the time that they belong to, and what those of a span of time come to."""

from __future__ import annotations

from itertools import repeat
from typing import Final

KEPT_MS: Final = 120_000
_BITS: Final = 5
_PARTS: Final = 1 << _BITS


class Sums:
    """Sums over spans of time without going through all that was added in them.

    Time is cut into chunks of 1,024 ms, these into 32 parts, and these into milliseconds: of each
    the sum is known. A span is taken together from the fewest, at most 62 of each size.
    ``gateway/stores/redis/leases.lua`` does the same.
    """

    __slots__ = ("_chunks", "_ms", "_parts")

    def __init__(self) -> None:
        self._ms: dict[int, int] = {}
        self._parts: dict[int, int] = {}
        self._chunks: dict[int, int] = {}

    def add(self, at: int, amount: int) -> None:
        """Add *amount* at the time *at*, in milliseconds; it may be less than nothing."""
        part, chunk = at >> _BITS, at >> 2 * _BITS
        if chunk not in self._chunks:
            self._forget(at - KEPT_MS >> 2 * _BITS)
        self._ms[at] = self._ms.get(at, 0) + amount
        self._parts[part] = self._parts.get(part, 0) + amount
        self._chunks[chunk] = self._chunks.get(chunk, 0) + amount

    def _forget(self, first: int) -> None:
        """Forget the chunks before *first* with all that is in them, and look at nothing else."""
        for chunk in [chunk for chunk in self._chunks if chunk < first]:
            del self._chunks[chunk]
            for part in range(chunk << _BITS, (chunk + 1) << _BITS):
                if self._parts.pop(part, None) is not None:
                    for at in range(part << _BITS, (part + 1) << _BITS):
                        self._ms.pop(at, None)

    def within(self, after: int, until: int) -> int:
        """Return what was added in (after, until]."""
        first, last, total = after + 1, until + 1, 0
        for sums in (self._ms, self._parts):
            # from both ends to where larger parts begin and end
            begin = min(first + -first % _PARTS, last)
            end = max(last - last % _PARTS, begin)
            total += _sum(sums, first, begin) + _sum(sums, end, last)
            if begin == end:
                return total
            first, last = begin >> _BITS, end >> _BITS
        return total + _sum(self._chunks, first, last)


def _sum(sums: dict[int, int], first: int, last: int) -> int:
    return sum(map(sums.get, range(first, last), repeat(0)))
