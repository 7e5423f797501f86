"""Which of the equal accounts of a model takes a call of a walk: the one that can soonest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from gateway.admission.windows import NEVER, RELEASE
from gateway.forecast.world import AnyWindow, Lane
from pricing.usage import Usage


def soonest(
    places: Sequence[int], lanes: Sequence[Lane], windows: Sequence[AnyWindow], tokens: int
) -> int:
    """Return the one of *places* whose lane can take a call of *tokens* soonest.

    Of those that can as soon as each other it is the first.
    """
    caps = [float(window.cap) for window in windows]
    return min(places, key=lambda place: _wait(lanes[place], windows, tokens, caps))


def _wait(lane: Lane, windows: Sequence[AnyWindow], tokens: int, caps: Sequence[float]) -> float:
    held = lane.taken(Usage(tokens, 1), caps).held
    worst = 0.0
    for row, hold in zip(lane.charged, held, strict=True):
        wait = 0.0 if row.own else windows[row.place].wait(hold)
        worst = max(worst, inf if wait in {NEVER, RELEASE} else wait)
    return worst
