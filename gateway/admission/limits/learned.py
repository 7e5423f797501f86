"""What a refusal teaches that tells of no window: no more than was sent before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.admission.reading import Dimension, Told

_WINDOWED: tuple[Dimension, ...] = ("requests", "tokens")


@dataclass(frozen=True, slots=True)
class Learned:
    """A provisional window: *cap* over *period_s* seconds, 0 for what is in flight."""

    dimension: Dimension
    cap: int
    period_s: float


def learned(told: Told, last_minute: Mapping[Dimension, int]) -> tuple[Learned, ...]:
    """Return the windows to work with until an answer tells of better ones.

    Args:
        told: What the refusal told. Where it told of a window, nothing is learned.
        last_minute: The own traffic of the 60 s before it: requests and tokens that were let
            through, and how many calls were in flight as ``concurrency``.
    """
    if told.readings or told.never:
        return ()
    dimensions = (told.exhausted[0],) if told.exhausted else _WINDOWED
    return tuple(
        Learned(dimension, max(1, last_minute[dimension]), _period(dimension))
        for dimension in dimensions
        if last_minute.get(dimension)
    )


def _period(dimension: Dimension) -> float:
    return 0.0 if dimension == "concurrency" else 60.0
