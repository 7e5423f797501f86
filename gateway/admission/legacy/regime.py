"""How a window fills, found out from readings between which nothing was sent."""

from __future__ import annotations

from collections import deque
from typing import Final

from gateway.admission.legacy.decision import Regime

_SOON_S: Final = 2.0
_FILLS: Final = 0.5
_STANDS: Final = 0.1
_AGREED: Final = 2


class RegimeDetector:
    """Takes the last three votes; two that are alike decide.

    Source: agentpause 0.5.0, ``RegimeDetector``.
    """

    __slots__ = ("_votes",)

    def __init__(self) -> None:
        self._votes: deque[Regime] = deque(maxlen=3)

    def feed(self, passed_s: float, gained: float, rate: float) -> None:
        """Take in that *gained* came back in *passed_s* seconds, where *rate* a second was said."""
        if passed_s < _SOON_S or rate <= 0:
            return
        share = gained / passed_s / rate
        if share >= _FILLS:
            self._votes.append("continuous")
        elif share <= _STANDS:
            self._votes.append("fixed")

    @property
    def regime(self) -> Regime | None:
        """How the window fills, None while that is not known."""
        votes = list(self._votes)
        agreed = (vote for vote in votes if votes.count(vote) >= _AGREED)
        return next(agreed, None)
