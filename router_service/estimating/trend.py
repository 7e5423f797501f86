"""What the gain of an arm has to do with the numbers of a request: its length, its direction.

Neighbours cannot tell this: of a few dozen rows each says little, and what is a trend all over is
seen by all rows together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from router_service.estimating.partition import Codes, Matrix, Numbers

_FEWEST: Final = 40
_ALPHAS: Final = (1e0, 1e1, 1e2, 1e3, 1e4, 1e5)
_WORTH: Final = 2.0  # rows: what one more number in a model has to explain (Akaike 1974)
_VECTOR: Final = 64  # numbers: a vector of very many would drown all that is counted
_SAMPLE: Final = 8192  # rows: the scale of a number is seen by as many
_FLAT: Final = 1e-5  # what differs by less is one number, but for rounding


@dataclass(frozen=True, slots=True)
class Trend:
    """For each arm with enough rows: the weights of the numbers, taken from their ``middle``."""

    middle: Numbers
    weights: Mapping[int, Numbers]

    def at(self, arm: int, apart: Numbers) -> float:
        """Return what the trend adds for *arm* so far *apart* from the middle, 0 without one."""
        found = self.weights.get(arm)
        return 0.0 if found is None else float(apart @ found)


def trend(
    left: Numbers, weights: Numbers, arms: Codes, numbers: Matrix, *, alone: int | None = None
) -> tuple[Trend, Numbers]:
    """Return the trend of what is *left* of each arm's rows, and what others foretell of each row.

    How far it is shrunk is what foretells each row best from the others; where the mean foretells
    it as well, there is no trend. The first *alone* of the numbers (all, if not said) each mean
    something; those that follow are the coordinates of a vector, and count for 64 at most.
    """
    if not len(numbers):
        return Trend(np.zeros(numbers.shape[1]), {}), np.zeros(0)
    sample = numbers[:: max(1, len(numbers) // _SAMPLE)].astype(np.float64)
    middle, spread = sample.mean(axis=0), sample.std(axis=0)
    scale = np.where(spread > _FLAT, spread, np.inf)
    if alone is not None:
        scale[alone:] *= max(1.0, math.sqrt((len(scale) - alone) / _VECTOR))
    found: dict[int, Numbers] = {}
    foretold = np.zeros_like(left)
    for arm in np.unique(arms):
        rows = np.flatnonzero((weights > 0) & (arms == arm))
        if len(rows) < _FEWEST:
            continue
        lie = (numbers[rows] - middle.astype(np.float32)) / scale.astype(np.float32)
        told = ridge_told(lie, left[rows], weights[rows])
        if told is not None:
            found[int(arm)], foretold[rows] = told[0] / scale, told[1]
    return Trend(middle, found), foretold


def ridge_told(lie: Matrix, values: Numbers, weights: Numbers) -> tuple[Numbers, Numbers] | None:
    """Return the weights of the ridge that foretells each of *values* best from the others.

    The second is what it foretells. None: nothing is plainly foretold better than by nothing.
    Source: Golub, Heath and Wahba 1979 (the cross-validation of ridge, in closed form).
    """
    root = np.sqrt(weights)
    lie, values = root.astype(np.float32)[:, None] * lie, root * values
    sizes, directions = np.linalg.eigh((lie.T @ lie).astype(np.float64))
    sizes = np.maximum(sizes, 0.0)
    along = lie @ directions.astype(np.float32)
    towards, squares = (along.T @ values.astype(np.float32)).astype(np.float64), along**2
    least, best = float((values**2).sum()) * (1 - _WORTH / len(values)), None
    for alpha in _ALPHAS:
        held = 1 / (sizes + alpha)
        leverage = np.minimum(squares @ held.astype(np.float32), 1 - 1e-6)
        missed = (values - along @ (held * towards).astype(np.float32)) / (1 - leverage)
        if float((missed**2).sum()) < least:
            least = float((missed**2).sum())
            best = directions @ (held * towards), (values - missed) / root
    return best
