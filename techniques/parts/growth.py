"""How a program's time grows with the size of what it is given."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LEAST_SIZES: Final = 4
"""With fewer, two laws cannot be told apart."""

_LEAST_ERROR: Final = 1e-9  # squared, of logarithms: closer than any clock tells
_LINEARITHMIC: Final = ("n log n", 0.85)
_BOUNDS: Final = (
    (0.20, "1", 1.0),
    (0.70, "log n", 1.0),
    (1.05, "n", 0.9),
    (1.30, *_LINEARITHMIC),  # as which it looks where there is something linear beside it
    (1.70, "n^1.5", 0.7),
    (2.30, "n^2", 0.5),
    (3.30, "n^3", 0.3),
    (math.inf, "worse than n^3", 0.1),
)
"""Up to which exponent an order goes, and what it is worth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The order of growth, what it is worth (0 to 1), and the exponent of the power law."""

    order: str
    credit: float
    exponent: float


def growth(timings: Sequence[tuple[int, float]]) -> Growth | None:
    """Return how time grows over *timings*, pairs of size and seconds; None if they are too few.

    Of the laws ``c * n^k`` and ``c * n * log n`` the one with the lower AICc is taken, the
    parameters counted without the variance, which both have. Source: Hurvich and Tsai 1989,
    Biometrika 76(2), section 2.
    """
    if len({size for size, _ in timings}) < LEAST_SIZES or min(timings)[0] < 2:
        return None
    sizes = [math.log(size) for size, _ in timings]
    times = [math.log(seconds) for _, seconds in timings]
    exponent, power_error = _line(sizes, times)
    offsets = [time - size - math.log(size) for size, time in zip(sizes, times, strict=True)]
    mean = math.fsum(offsets) / len(offsets)
    linearithmic_error = math.fsum((offset - mean) ** 2 for offset in offsets)
    count = len(timings)
    if _aicc(linearithmic_error, count, 1) < _aicc(power_error, count, 2):
        return Growth(*_LINEARITHMIC, exponent)
    order, credit = next((order, credit) for most, order, credit in _BOUNDS if exponent < most)
    return Growth(order, credit, exponent)


def _line(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the best line through the points, and the sum of its squared errors."""
    mean_x, mean_y = (math.fsum(values) / len(values) for values in (xs, ys))
    spread = math.fsum((x - mean_x) ** 2 for x in xs)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / spread
    errors = ((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in zip(xs, ys, strict=True))
    return slope, math.fsum(errors)


def _aicc(error: float, count: int, parameters: int) -> float:
    small = 2 * parameters * (parameters + 1) / (count - parameters - 1)
    return count * math.log(max(error, _LEAST_ERROR) / count) + 2 * parameters + small
