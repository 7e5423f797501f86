"""Doubts what a single answer says: that a window which lets a call through is empty. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from gateway.stores.ledger import WindowReading

_DOUBTED_MS: Final = 2000


class Zeros:
    """Keeps which windows were told as empty by the last answer that told of them.

    Some providers show a zero for one answer and the truth in the next. Until a second answer says
    it too, a zero holds up a call like the one that was answered for two seconds at the most.
    """

    __slots__ = ("_told",)

    def __init__(self) -> None:
        self._told: set[str] = set()

    def believed(
        self, readings: Sequence[WindowReading], needs: Mapping[str, int]
    ) -> list[WindowReading]:
        """Return *readings* of an answer to a call that held *needs*, as far as they are sure."""
        return [self._believed(one, needs.get(one.name, 0)) for one in readings]

    def _believed(self, reading: WindowReading, need: int) -> WindowReading:
        left, limit = reading.remaining, reading.limit
        if left is None:
            return reading
        if left > 0 or not limit or limit < 0:
            self._told.discard(reading.name)
            return reading
        if reading.name in self._told:
            return reading
        self._told.add(reading.name)
        if reading.kind != "bucket" or reading.period_ms <= 0:
            return reading._replace(remaining=None)
        back = _DOUBTED_MS * limit / reading.period_ms
        guess = max(0.0, need - back)  # it lowers what is thought to be there, and raises nothing
        return reading._replace(remaining=guess, exact=False, bounded=False)
