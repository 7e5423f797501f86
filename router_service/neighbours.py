"""What lies near a prompt: the most similar rows of each arm, and how far that is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.partition import Codes, Matrix, Numbers, Partition

Places: TypeAlias = NDArray[np.intp]
_NARROWEST, _WIDEST = 0.03, 0.20
_SAMPLE: Final = 256
_LIKELY: Final = 64
_SAME: Final = 0.9995  # a prompt that was sent again says nothing of how near others lie
_FAR, _NEAR = 0.5, 0.9  # where nothing tells
_WIDER: Final = 4
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

    partition: Partition
    rows: tuple[Places, ...]
    places: tuple[Codes, ...]
    far: float
    near: float

    def around(self, values: Matrix, most: int) -> Near | None:
        """Return the *most* similar rows of each arm; None if *values* are of another length.

        Where there are many they are looked for by their short form, more than are needed, and
        those found are compared at full length.
        """
        whole = self.partition
        if len(values) != whole.vectors.shape[1]:
            return None
        rough = _products(whole, values)
        rows = np.zeros((len(self.rows), most), np.intp)
        similar = np.full((len(self.rows), most), _NONE)
        for arm, (entries, places) in enumerate(zip(self.rows, self.places, strict=True)):
            if not len(places):
                continue
            guess = rough[places]
            if whole.brief is None:
                best = _best(guess, most)
                exact = guess[best]
            else:
                best = _best(guess, _WIDER * most)
                exact = whole.vectors[places[best]] @ values
                kept = _best(exact, most)
                best, exact = best[kept], exact[kept]
            rows[arm, : len(best)] = entries[best]
            similar[arm, : len(best)] = exact
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


def neighbourhood(partition: Partition, place: Codes, arms: Codes, count: int) -> Neighbourhood:
    """Return the rows of *arms* (codes below *count*) that have a *place* in *partition*."""
    there = np.flatnonzero(place >= 0)
    order = there[np.argsort(arms[there], kind="stable")]
    edges = np.searchsorted(arms[order], np.arange(1, count))
    rows = np.split(order, edges)
    places = tuple(place[each] for each in rows)
    far, near = _usual(partition, np.unique(place[order]))
    return Neighbourhood(partition, tuple(rows), places, far, near)


def _products(partition: Partition, values: Matrix) -> Matrix:
    """Return how similar every vector is, about so where there is a short form."""
    if partition.brief is None or partition.basis is None:
        return partition.vectors @ values
    return partition.brief @ (values @ partition.basis)


def _best(similar: Matrix, most: int) -> Places:
    if len(similar) <= most:
        return np.arange(len(similar))
    return np.argpartition(similar, -most)[-most:]


def _usual(partition: Partition, places: Codes) -> tuple[float, float]:
    """Return the 10th and the 50th percentile of how near the nearest other one is."""
    nearest = []
    if len(places) > 1:
        for place in places[:: max(1, len(places) // _SAMPLE)][:_SAMPLE]:
            values = partition.vectors[place]
            rough = _products(partition, values)[places]
            found = partition.vectors[places[_best(rough, _LIKELY)]] @ values
            nearest.append(float(found[found <= _SAME].max(initial=_NONE)))
    there = [each for each in nearest if each > _NONE]
    if not there:
        return _FAR, _NEAR
    far, near = np.percentile(there, [10, 50])
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
