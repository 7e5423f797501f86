"""Observations as a table to train on: a request a row, an arm a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from router_service.arms import PLAIN
from router_service.contract import Observation
from router_service.estimating.partition import Codes, Numbers, unit
from router_service.routers.acm_linear import linear_features
from techniques.parts.features import FEATURES

Order: TypeAlias = NDArray[np.intp]
ORDER: Final = tuple(name for name in FEATURES if name != "difficulty")
"""Nothing tells a router how hard a question is, so it trains without: as it will have to serve."""
_MOST_WEIGHT: Final = 20.0
_FOLDS: Final = 5
_TOWNS: Final = 40
_ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class Lessons:
    """What was observed of each request and arm but the plain one; NaN: nothing.

    ``gain`` is the quality above the plain call's. ``weight`` is 1 over the propensity, from 1 to
    20, by how far the quality is to be believed, 0 where there is none. ``town`` are the requests
    that are about one thing.
    """

    arms: tuple[str, ...]
    features: Numbers
    gain: Numbers
    weight: Numbers
    cost: Numbers
    town: Codes

    def taken(self, rows: Order) -> Lessons:
        """Return these *rows* only."""
        return Lessons(
            self.arms,
            self.features[rows],
            self.gain[rows],
            self.weight[rows],
            self.cost[rows],
            self.town[rows],
        )

    def folds(self, seed: int = 0) -> list[Order]:
        """Return the requests in five parts; those of one town are in one part."""
        towns = np.unique(self.town)
        shuffled = np.random.default_rng(seed).permutation(towns)
        parts = [np.isin(self.town, part) for part in np.array_split(shuffled, _FOLDS)]
        return [np.flatnonzero(part) for part in parts if part.any()]


def lessons(rows: Iterable[Observation]) -> Lessons:
    """Return what *rows* teach: those of arms, with their own quality and the plain call's."""
    told = [row for row in rows if row.arm != PLAIN.name]
    told = [row for row in told if row.quality is not None and row.plain_quality is not None]
    arms = tuple(sorted({row.arm for row in told}))
    first: dict[str, Observation] = {}
    for row in told:
        first.setdefault(row.request_id, row)
    places = {request: place for place, request in enumerate(first)}
    shape = (len(places), len(arms))
    gain, weight, cost = np.full(shape, np.nan), np.zeros(shape), np.full(shape, np.nan)
    for row in told:
        at = places[row.request_id], arms.index(row.arm)
        gain[at] = (row.quality or 0.0) - (row.plain_quality or 0.0)
        weight[at] = min(max(1 / row.propensity, 1.0), _MOST_WEIGHT) * abs(row.reliability)
        cost[at] = np.nan if row.cost is None else row.cost
    found = [linear_features(row.features) for row in first.values()]
    features = np.array([[each[name] for name in ORDER] for each in found], np.float64)
    town = towns(list(first.values()))
    return Lessons(arms, features.reshape(-1, len(ORDER)), gain, weight, cost, town)


def towns(rows: Sequence[Observation], seed: int = 0) -> Codes:
    """Return which of *rows* are about one thing: by their vectors, else each is its own.

    Source: Lloyd 1982 (k-means), on the sphere.
    """
    encoder = next((row.vector.encoder for row in rows if row.vector is not None), None)
    found = np.arange(len(rows), dtype=np.int32)
    vectors = {
        place: values
        for place, row in enumerate(rows)
        if row.vector is not None and row.vector.encoder == encoder
        if (values := unit(row.vector)) is not None
    }
    width = len(next(iter(vectors.values()), ()))
    there = [place for place, values in vectors.items() if len(values) == width]
    if len(there) <= _TOWNS:
        return found
    lie = np.array([vectors[place] for place in there])
    middles = lie[np.random.default_rng(seed).choice(len(lie), _TOWNS, replace=False)]
    nearest = np.argmax(lie @ middles.T, axis=1)
    for _ in range(_ROUNDS):
        sums = np.zeros_like(middles)
        np.add.at(sums, nearest, lie)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        middles = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), middles)
        nearest = np.argmax(lie @ middles.T, axis=1)
    found[there] = len(rows) + nearest
    return found
