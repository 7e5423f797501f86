"""What lies near a prompt: the most similar rows of each arm, and how far that is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.experience import Codes, Matrix, Numbers

Places: TypeAlias = NDArray[np.intp]
_NARROWEST, _WIDEST = 0.03, 0.20
_SAMPLE: Final = 256
_SAME: Final = 0.9995  # a prompt that was sent again says nothing of how near others lie
_FAR, _NEAR = 0.5, 0.9  # where nothing tells
_TINY: Final = 1e-300
_NONE: Final = -2.0  # below every similarity


class Near(NamedTuple):
    """The neighbours of one prompt, a row an arm; ``kernel`` is 0 where there is no neighbour."""

    rows: Places
    kernel: Numbers
    similarity: float
    gate: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The rows that have a vector of one encoder, by arm.

    ``rows`` and ``places`` are those of each arm: which entries they are, and where their vectors
    are. ``far`` and ``near`` are between which similarities a prompt comes to be like the others.
    """

    vectors: Matrix
    rows: tuple[Places, ...]
    places: tuple[Codes, ...]
    far: float
    near: float

    def around(self, values: Matrix, most: int) -> Near | None:
        """Return the *most* similar rows of each arm; None if *values* are of another length."""
        if len(values) != self.vectors.shape[1]:
            return None
        found = self.vectors @ values
        rows = np.zeros((len(self.rows), most), np.intp)
        similar = np.full((len(self.rows), most), _NONE)
        for arm, (entries, places) in enumerate(zip(self.rows, self.places, strict=True)):
            best = _best(found[places], most)
            rows[arm, : len(best)] = entries[best]
            similar[arm, : len(best)] = found[places[best]]
        return self._weighed(rows, similar)

    def _weighed(self, rows: Places, similar: Numbers) -> Near | None:
        there = similar > _NONE
        if not there.any():
            return None
        apart = 1.0 - similar
        width = min(max(float(np.median(apart[there])), _NARROWEST), _WIDEST)
        kernel = np.where(there, np.exp(-np.maximum(apart, 0.0) / width), 0.0)
        nearest = float(similar.max())
        return Near(rows, kernel, nearest, self._gate(nearest))

    def _gate(self, nearest: float) -> float:
        """Return 0 for a prompt that is like none of these, 1 for one that is like them."""
        if self.near <= self.far:
            return float(nearest >= self.near)
        return min(max((nearest - self.far) / (self.near - self.far), 0.0), 1.0)


def neighbourhood(vectors: Matrix, place: Codes, arms: Codes, count: int) -> Neighbourhood:
    """Return the rows of *arms* (codes below *count*) that have a *place* among *vectors*."""
    there = np.flatnonzero(place >= 0)
    order = there[np.argsort(arms[there], kind="stable")]
    edges = np.searchsorted(arms[order], np.arange(1, count))
    rows = np.split(order, edges)
    places = tuple(place[each] for each in rows)
    far, near = _usual(vectors, np.unique(place[order]))
    return Neighbourhood(vectors, tuple(rows), places, far, near)


def _best(similar: Matrix, most: int) -> Places:
    if len(similar) <= most:
        return np.arange(len(similar))
    return np.argpartition(similar, -most)[-most:]


def _usual(vectors: Matrix, places: Codes) -> tuple[float, float]:
    """Return the 10th and the 50th percentile of how near the nearest other one is."""
    if len(places) < 2:
        return _FAR, _NEAR
    sample = places[:: max(1, len(places) // _SAMPLE)][:_SAMPLE]
    found = vectors[sample] @ vectors.T
    within = np.zeros(len(vectors), bool)
    within[places] = True
    found[:, ~within] = _NONE
    found[found > _SAME] = _NONE
    nearest = found.max(axis=1)
    nearest = nearest[nearest > _NONE]
    if not len(nearest):
        return _FAR, _NEAR
    far, near = np.percentile(nearest, [10, 50])
    return float(far), float(near)


def effective(kernel: Numbers, weights: Numbers) -> Numbers:
    """Return how many rows a mean by *kernel* is worth, if each counts for its weight.

    With weights of 1 that is ``sum(K)**2 / sum(K**2)`` (Kish); rows of weight .3 are worth .3.
    """
    square = (kernel**2 * weights).sum(axis=-1)
    total: Numbers = (kernel * weights).sum(axis=-1)
    return np.where(square > 0, total**2 / np.maximum(square, _TINY), 0.0)


def mean(kernel: Numbers, weights: Numbers, values: Numbers) -> Numbers:
    """Return the mean of *values* by *kernel* and *weights*, 0 where there are none."""
    total = (kernel * weights).sum(axis=-1)
    summed: Numbers = (kernel * weights * values).sum(axis=-1)
    return np.where(total > 0, summed / np.maximum(total, _TINY), 0.0)
