"""One walk with nothing left to chance: agentpause's own forecast, for those who compare. Pure.

Every step uses the same, and a window regains only while one waits for it.

Source: agentpause 0.5.0, the forecast of a session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from gateway.admission.legacy.decision import Budget, refill_wait

_NEARLY_ALL: Final = 0.98


@dataclass(frozen=True, slots=True)
class Route:
    """What is to be done.

    Attributes:
        steps: How many calls, one after the other.
        tokens: What each of them uses.
        seconds: How long each of them takes; 0 where nobody knows.
        wait_threshold_s: A pause longer than this is a suspension, which lasts a whole reset.
        deadline_s: In which all is to be done; None: there is no such time.
    """

    steps: int
    tokens: float
    seconds: float = 0.0
    wait_threshold_s: float = 15.0
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """What comes of it. ``context_wall``: a step does not fit into the window, and all ends there.

    ``fits``: all is done in the time that was given; None where none was.
    """

    steps: int = 0
    tokens: float = 0.0
    work_s: float = 0.0
    waiting_s: float = 0.0
    waits: int = 0
    suspensions: int = 0
    context_wall: bool = False
    fits: bool | None = None

    @property
    def wall_s(self) -> float:
        """The time from beginning to end."""
        return self.work_s + self.waiting_s


def simulate(budget: Budget, route: Route) -> Point:
    """Return what comes of *route* in the window of *budget*; where it cannot go on, it ends."""
    point, left = Point(), budget
    for _ in range(route.steps):
        if left.remaining_tokens < route.tokens:
            limit = left.limit_tokens
            if limit is not None and route.tokens >= _NEARLY_ALL * limit:
                point = replace(point, context_wall=True)
                break
            pause = refill_wait(left, route.tokens)
            if pause is None:
                break
            point, left = _paused(point, left, route, pause)
        left = replace(left, remaining_tokens=left.remaining_tokens - route.tokens)
        point = replace(
            point,
            steps=point.steps + 1,
            tokens=point.tokens + route.tokens,
            work_s=point.work_s + route.seconds,
        )
    if route.deadline_s is None:
        return point
    fits = point.steps == route.steps and point.wall_s <= route.deadline_s
    return replace(point, fits=fits)


def _paused(point: Point, left: Budget, route: Route, pause: float) -> tuple[Point, Budget]:
    """Return *point* and the window after a pause: one that is waited for, or a suspension."""
    limit, reset = left.limit_tokens, left.reset_seconds or 0.0
    full = route.tokens if limit is None else limit
    if pause > route.wait_threshold_s:
        waiting_s = point.waiting_s + reset
        point = replace(point, suspensions=point.suspensions + 1, waiting_s=waiting_s)
        return point, replace(left, remaining_tokens=full)
    point = replace(point, waits=point.waits + 1, waiting_s=point.waiting_s + pause)
    if left.refill_regime == "fixed" or limit is None or reset <= 0:
        return point, replace(left, remaining_tokens=full)
    regained = (limit - left.remaining_tokens) / reset * pause
    return point, replace(left, remaining_tokens=min(full, left.remaining_tokens + regained))
