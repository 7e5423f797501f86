"""Ridge regression over a few named features, in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Final, TypeAlias

Features: TypeAlias = Mapping[str, float]

_SINGULAR: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted regression: weights of standardised features, added to the mean."""

    mean: float
    weights: Mapping[str, tuple[float, float, float]]
    """By feature: its mean, its standard deviation, and its weight."""

    def at(self, features: Features) -> float:
        """Return the fitted value at *features*; one that is not named is 0."""
        return self.mean + sum(
            weight * (features.get(name, 0.0) - centre) / spread
            for name, (centre, spread, weight) in self.weights.items()
        )


def fit(rows: Sequence[Features], values: Sequence[float], ridge: float) -> Line | None:
    """Return the regression of *values* on *rows*; the mean is not shrunk.

    None where there are not more rows than features, or they cannot be told apart.
    """
    names = sorted({name for row in rows for name in row})
    if len(rows) < len(names) + 1:
        return None
    columns, scales = [], []
    for name in names:
        column = [row.get(name, 0.0) for row in rows]
        centre, spread = fmean(column), pstdev(column) or 1.0
        scales.append((centre, spread))
        columns.append([(value - centre) / spread for value in column])
    mean = fmean(values)
    matrix = [
        [_dot(one, other) + (ridge if i == j else 0.0) for j, other in enumerate(columns)]
        + [_dot(one, [value - mean for value in values])]
        for i, one in enumerate(columns)
    ]
    weights = _solved(matrix)
    if weights is None:
        return None
    fitted = zip(names, scales, weights, strict=True)
    return Line(mean, {name: (*scale, weight) for name, scale, weight in fitted})


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _solved(matrix: list[list[float]]) -> list[float] | None:
    """Solve a system by elimination with partial pivoting; its right side is the last column."""
    size = len(matrix)
    for step in range(size):
        best = max(range(step, size), key=lambda row: abs(matrix[row][step]))
        matrix[step], matrix[best] = matrix[best], matrix[step]
        pivot = matrix[step][step]
        if abs(pivot) < _SINGULAR:
            return None
        for row in matrix[step + 1 :]:
            factor = row[step] / pivot
            for column in range(step, size + 1):
                row[column] -= factor * matrix[step][column]
    found = [0.0] * size
    for step in reversed(range(size)):
        rest = _dot(matrix[step][step + 1 : size], found[step + 1 :])
        found[step] = (matrix[step][size] - rest) / matrix[step][step]
    return found
