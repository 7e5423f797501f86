"""An account's own traffic of the last minute, from which a limit that nobody tells is guessed."""

from __future__ import annotations

from collections import deque
from typing import Final

_SPAN_S: Final = 60.0
_SLICE_S: Final = 1.0


class Recent:
    """Counts requests and tokens by seconds, a minute back. Times are seconds of one clock."""

    __slots__ = ("_slices",)

    def __init__(self) -> None:
        self._slices: deque[tuple[float, int, int]] = deque()

    def add(self, now: float, tokens: int) -> None:
        """Count one request of *tokens*."""
        slices = self._slices
        if slices and now - slices[-1][0] < _SLICE_S:
            at, requests, before = slices[-1]
            slices[-1] = (at, requests + 1, before + tokens)
        else:
            slices.append((now, 1, tokens))
            self._drop(now)

    def total(self, now: float) -> tuple[int, int]:
        """Return the requests and the tokens of the last minute."""
        self._drop(now)
        return sum(row[1] for row in self._slices), sum(row[2] for row in self._slices)

    def _drop(self, now: float) -> None:
        while self._slices and self._slices[0][0] < now - _SPAN_S:
            self._slices.popleft()
