"""What lies near a prompt: the most similar rows of each arm, and how far that is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.estimating.partition import Codes, Matrix, Numbers, Partition

Places: TypeAlias = NDArray[np.intp]
_NARROWEST, _WIDEST = 0.03, 0.20
_SAMPLE: Final = 128
_LIKELY: Final = 64
_SAME: Final = 0.9995  # a prompt that was sent again says nothing of how near others lie
_FAR, _NEAR = 0.5, 0.9  # where nothing tells
_WIDER: Final = 4
_ASKED: Final = 2048
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
    are. A prompt whose nearest one is as similar as ``far`` is like the others; one that is by as
    much farther off as ``near`` is above ``far`` is like none.
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
        similar = np.empty((len(self.rows), most))
        similar.fill(_NONE)
        for arm, (entries, places) in enumerate(zip(self.rows, self.places, strict=True)):
            if not len(places):
                continue
            guess = rough[places]
            if not whole.is_large:
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

    def beside(self, arm: int, asked: Places, most: int) -> tuple[Places, Numbers]:
        """Return the *most* similar rows of *arm* to those *asked*, but none of the same requests.

        A row each; the second are their kernels, 0 where there are fewer.
        """
        places = self.places[arm]
        looked = self.partition.brief if self.partition.is_large else self.partition.vectors
        guess = looked[places[asked]] @ looked[places].T
        guess[places[asked][:, None] == places] = _NONE
        best = _best(guess, most)
        there = np.take_along_axis(guess, best, axis=1) > _NONE
        values = self.partition.vectors[places[asked]]
        similar = np.einsum("nd,nkd->nk", values, self.partition.vectors[places[best]])
        apart = np.where(there, np.maximum(1.0 - similar, 0.0), np.nan)
        if not there.any():
            return self.rows[arm][best], np.zeros(best.shape)
        wide = [[_width(each[~np.isnan(each)])] for each in apart]
        return self.rows[arm][best], np.where(there, np.exp(-np.nan_to_num(apart) / wide), 0.0)

    def _weighed(self, rows: Places, similar: Numbers) -> Near | None:
        nearest = float(similar.max())
        if nearest <= _NONE:
            return None
        there = similar > _NONE
        apart = np.maximum(1.0 - similar, 0.0)
        kernel = np.exp(apart / -_width(apart[there]))
        kernel *= there
        return Near(rows, kernel, nearest, self._gate(nearest))

    def _gate(self, nearest: float) -> float:
        """Return 0 for a prompt that is like none of these, 1 for one that is like them.

        Nine in ten are: how near a prompt lies says little until it lies farther than the others.
        """
        if self.near <= self.far:
            return float(nearest >= self.near)
        return min(max(1 + (nearest - self.far) / (self.near - self.far), 0.0), 1.0)


def neighbourhood(partition: Partition, place: Codes, arms: Codes, count: int) -> Neighbourhood:
    """Return the rows of *arms* (codes below *count*) that have a *place* in *partition*."""
    there = np.flatnonzero(place >= 0)
    order = there[np.argsort(arms[there], kind="stable")]
    edges = np.searchsorted(arms[order], np.arange(1, count))
    rows = np.split(order, edges)
    places = tuple(place[each] for each in rows)
    far, near = _usual(partition, np.unique(place[order]))
    return Neighbourhood(partition, tuple(rows), places, far, near)


def _width(apart: Numbers) -> float:
    """Return how wide a kernel is to be for neighbours that are so far *apart*: the median."""
    if not len(apart):
        return _NARROWEST
    half = len(apart) // 2
    ranked = np.partition(apart, half)
    middle = float(ranked[half])
    if len(apart) % 2 == 0:
        middle = (middle + float(ranked[:half].max())) / 2
    return min(max(middle, _NARROWEST), _WIDEST)


def _products(partition: Partition, values: Matrix) -> Matrix:
    """Return how similar every vector is, about so where there is a short form."""
    if not partition.is_large:
        return partition.vectors @ values
    return partition.brief @ (values @ partition.basis)


def _best(similar: Matrix, most: int) -> Places:
    count = similar.shape[-1]
    if count > most:
        return similar.argpartition(count - most)[..., count - most :]
    every = np.arange(count)
    return every if similar.ndim == 1 else np.broadcast_to(every, similar.shape)


def _usual(partition: Partition, places: Codes) -> tuple[float, float]:
    """Return the 10th and the 50th percentile of how near the nearest other one is."""
    sample = places[:: max(1, len(places) // _SAMPLE)][:_SAMPLE]
    looked = partition.brief if partition.is_large else partition.vectors
    every, nearest = looked[places], []
    for values, brief in zip(partition.vectors[sample], looked[sample], strict=True):
        likely = places[_best(every @ brief, _LIKELY)]
        found = partition.vectors[likely] @ values
        nearest.append(float(found[found <= _SAME].max(initial=_NONE)))
    there = [each for each in nearest if each > _NONE]
    if not there:
        return _FAR, _NEAR
    far, near = np.percentile(there, [10, 50])
    return float(far), float(near)


def foretold(  # noqa: PLR0913 - what it is reckoned by
    there: Neighbourhood, left: Numbers, counts: Numbers, *, own: Numbers, most: int, kappa: float
) -> tuple[Places, Numbers]:
    """Return some of the entries of all arms, and what their own neighbours foretell of each.

    *own* is by how much each entry moved the mean from which *left* is taken; it is to say nothing
    of itself.
    """
    entries, told = [np.zeros(0, np.intp)], [np.zeros(0)]
    each = max(1, sum(map(len, there.rows[:-1])) // _ASKED)
    for arm, known in enumerate(there.rows[:-1]):
        asked = np.arange(0, len(known), each)
        near, kernel = there.beside(arm, asked, most)
        rows = effective(kernel, counts[near])
        seen = mean(kernel, counts[near], left[near]) + own[known[asked]]
        told.append(seen * rows / (rows + kappa))
        entries.append(known[asked])
    return np.concatenate(entries), np.concatenate(told)


def summed(kernel: Numbers, weights: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return ``effective`` and ``mean`` of each of several *values*, with *weights* of its own."""
    weighed = kernel * weights
    total = np.add.reduce(weighed, axis=-1)
    square = np.maximum(np.einsum("aij,ij->ai", weighed, kernel), _TINY)
    sums = np.einsum("aij,aij->ai", weighed, values)
    return total * total / square, sums / np.maximum(total, _TINY)


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
