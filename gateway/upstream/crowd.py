"""Tells the answers of a busy moment that have to be heard out from those that need not be."""

from __future__ import annotations

from typing import Final

_ALL_HEARD: Final = 50
_ONE_IN: Final = 8


class Crowd:
    """Counts answers by seconds: of the first fifty all are heard out, later one in eight.

    What others tell, and what they used, is the same but for a little.
    """

    __slots__ = ("_answers", "_since")

    def __init__(self) -> None:
        self._since = 0.0
        self._answers = 0

    def is_skimmed(self, now: float) -> bool:
        """Return whether an answer that comes *now*, in seconds, need not be heard out."""
        if now - self._since >= 1:
            self._since, self._answers = now, 0
        self._answers += 1
        return self._answers > _ALL_HEARD and self._answers % _ONE_IN != 0
