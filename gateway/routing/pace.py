"""How long arms have taken of late, so that none is chosen that would pass a deadline."""

from __future__ import annotations

from collections import deque
from typing import Final

_KEPT: Final = 50
_ENOUGH: Final = 10
_SLOWEST: Final = 0.95
_MOST_KNOWN: Final = 1000


class Pace:
    """The seconds that the last requests took, by model and arm."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], deque[float]] = {}

    def took(self, model: str, arm: str, seconds: float) -> None:
        """Note that a request to *model* took *seconds* with *arm*."""
        known = self._taken.get((model, arm))
        if known is None:
            if len(self._taken) >= _MOST_KNOWN:
                self._taken.clear()
            known = self._taken[model, arm] = deque(maxlen=_KEPT)
        known.append(seconds)

    def is_too_slow(self, model: str, arm: str, deadline_s: float | None) -> bool:
        """Return whether one in twenty requests takes longer than *deadline_s*; False: unknown."""
        known = self._taken.get((model, arm))
        if deadline_s is None or known is None or len(known) < _ENOUGH:
            return False
        return sorted(known)[int(_SLOWEST * len(known))] > deadline_s
