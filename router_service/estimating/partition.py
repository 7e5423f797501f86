"""The vectors of one encoder, and a short form of them in which to look for what is near."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.contract import Vector

Numbers: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int32]
Matrix: TypeAlias = NDArray[np.float32]

_SHORT: Final = 64  # numbers of the short form; see docs/decisions/0022
_LONG: Final = 1024  # numbers, of which the directions take a second to be found
_SAMPLE: Final = 4096
_FEW: Final = 4096  # so many are compared at full length in less time than it takes to sort out
_ANEW: Final = 2  # the short form is made anew when there are so many times more vectors


@dataclass(frozen=True, slots=True)
class Partition:
    """``place`` is where the vector of a request is, by the request's code.

    A request that has none, or came after this was made, has no place (-1, or beyond the end).
    ``brief`` are the vectors along the few directions ``basis`` in which they differ most, as
    these were when there were ``made`` vectors.
    """

    vectors: Matrix
    place: Codes
    basis: Matrix
    brief: Matrix
    made: int = 0

    @property
    def coordinates(self) -> Matrix:
        """The vectors, long ones in their short form: what a line may be drawn through."""
        return self.brief if self.vectors.shape[1] > _LONG else self.vectors

    def placed(self, values: Matrix) -> Matrix:
        """Return the coordinates of a vector with these *values*."""
        return values @ self.basis if self.vectors.shape[1] > _LONG else values

    @property
    def is_large(self) -> bool:
        """Tell whether it takes less time to look in ``brief`` first."""
        count, width = self.vectors.shape
        return bool(count > _FEW and width > 2 * self.brief.shape[1])

    def of(self, requests: Codes) -> Codes:
        """Return the places of the vectors of *requests*, -1 for those without."""
        known = requests < len(self.place)
        if not len(self.place):
            return np.full(len(requests), -1, np.int32)
        return np.where(known, self.place[np.where(known, requests, 0)], -1).astype(np.int32)

    def thinned(self, requests: Codes) -> Partition:
        """Return this with just the vectors of *requests*, which are renamed to their order."""
        places = self.of(requests)
        there = places >= 0
        renamed = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)
        kept = places[there]
        return Partition(self.vectors[kept], renamed, self.basis, self.brief[kept], self.made)


def unit(vector: Vector) -> Matrix | None:
    """Return the values of *vector* at length 1, None if it has no length."""
    values = np.array(vector.values, np.float64)
    length = float(np.linalg.norm(values))
    return (values / length).astype(np.float32) if 0 < length < math.inf else None


def joined(old: Partition | None, came: Mapping[int, Matrix]) -> Partition:
    """Return *old* with what *came*, by request; one of another length than the first is left out.

    A request has one vector: the first that came.
    """
    width = len(next(iter(came.values()))) if old is None else old.vectors.shape[1]
    if old is None:
        none = np.zeros((0, width), np.float32)
        old = Partition(none, np.zeros(0, np.int32), np.eye(width, 0, dtype=np.float32), none)
    new = {
        code: values
        for code, values in came.items()
        if len(values) == width and (code >= len(old.place) or old.place[code] < 0)
    }
    place = np.full(max(len(old.place), max(came) + 1), -1, np.int32)
    place[: len(old.place)] = old.place
    begin = len(old.vectors)
    place[list(new)] = np.arange(begin, begin + len(new), dtype=np.int32)
    added = np.array(list(new.values()), np.float32).reshape(-1, width)
    vectors = np.concatenate([old.vectors, added])
    if len(vectors) > _ANEW * old.made:
        basis = _basis(vectors)
        return Partition(vectors, place, basis, vectors @ basis, len(vectors))
    brief = np.concatenate([old.brief, added @ old.basis])
    return Partition(vectors, place, old.basis, brief, old.made)


def _basis(vectors: Matrix) -> Matrix:
    """Return the directions, a column each, that keep the most of products between *vectors*."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    _, directions = np.linalg.eigh(sample.T @ sample)
    return np.ascontiguousarray(directions[:, -_SHORT:])
