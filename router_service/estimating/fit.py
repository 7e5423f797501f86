"""What is known of one set of models, made ready to be asked about a prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from router_service.estimating.entries import Entries, arm_costs, entries
from router_service.estimating.experience import COUNTED, Experience
from router_service.estimating.levels import COST_KAPPA, Levels, fitted, moved
from router_service.estimating.neighbours import (
    Neighbourhood,
    Places,
    foretold,
    neighbourhood,
)
from router_service.estimating.partition import Matrix, Numbers
from router_service.estimating.spreads import seconds, spreads
from router_service.estimating.trend import trend
from router_service.estimating.trust import Trust, trust
from router_service.estimating.view import Fit


class Terms(NamedTuple):
    """By what is reckoned.

    ``neighbours`` of each arm are asked; what is expected of all counts for ``kappa`` rows beside
    them. A row counts half after ``half_life_days``.
    """

    neighbours: int
    kappa: float
    half_life_days: float


def fit(known: Experience, profile: str, terms: Terms) -> Fit:
    """Return what *known* tells of the models of *profile*."""
    made = entries(known, profile, terms.half_life_days)
    gains, left = fitted(made.value, made.counts, made.arm, made.groups)
    sizes = {name: len(each.vectors) for name, each in known.partitions.items()}
    encoder = max(sizes, key=lambda name: sizes[name], default="")
    trending, said = trend(
        left, made.counts, made.arm, _numbers(known, made, encoder), alone=len(COUNTED)
    )
    near = _neighbourhoods(known, made)
    most, kappa = terms.neighbours, terms.kappa
    own = moved(left, made.counts, made.arm)
    told = {
        name: foretold(each, left, made.counts, own=own, most=most, kappa=kappa)
        for name, each in near.items()
    }
    costs, cost_left, usual = _costs(known, made)
    return Fit(
        known=known,
        entries=made,
        gains=gains,
        trend=trending,
        encoder=encoder,
        gain_left=left,
        kappa=kappa,
        trusts=_trusts(made, left + own, said, told),
        costs=costs,
        cost_left=cost_left,
        usual=usual,
        spreads=spreads(left, made),
        seconds=seconds(known),
        neighbourhoods=near,
        told=_told(made, left, cost_left),
    )


def _told(made: Entries, left: Numbers, cost_left: Numbers) -> Numbers:
    return np.stack([made.counts, made.costs, left, cost_left])


def _trusts(
    made: Entries, truth: Numbers, said: Numbers, told: Mapping[str, tuple[Places, Numbers]]
) -> dict[str, Trust]:
    """Return how far trend and neighbours are to be believed, by encoder; "": without a vector.

    *said* is what the trend foretells of every entry, *told* what neighbours do of some. The
    *truth* is what each is above what the others say of its arm.
    """
    gains = np.flatnonzero(made.arm < made.plain)
    every = {"": (gains, np.zeros(len(gains))), **told}
    return {
        name: trust(said[rows], each, truth[rows], made.counts[rows])
        for name, (rows, each) in every.items()
    }


def weakened(whole: Fit, share: float) -> Fit:
    """Return *whole* with each row at *share* of its weight: its means are shrunk the more."""
    made = whole.entries
    made = replace(made, counts=share * made.counts, costs=share * made.costs)
    gains, left = fitted(made.value, made.counts, made.arm, made.groups)
    costs, cost_left, _ = _costs(whole.known, made)
    return replace(
        whole,
        entries=made,
        gains=gains,
        gain_left=left,
        costs=costs,
        cost_left=cost_left,
        spreads=spreads(left, made),
        told=_told(made, left, cost_left),
        cells={},
    )


def _costs(known: Experience, made: Entries) -> tuple[Levels, Numbers, Sequence[float | None]]:
    """Return the levels of the logarithm of costs about the usual one of each arm, and that."""
    usual = [*arm_costs(known.columns, known.columns.cost, made.plain), None]
    apart = np.array([math.log(each) if each else 0.0 for each in usual])[made.arm]
    return *fitted(made.cost - apart, made.costs, made.arm, made.groups, least=COST_KAPPA), usual


def _numbers(known: Experience, made: Entries, encoder: str) -> Matrix:
    """Return the numbers of every entry: what was counted, and where its vector by *encoder* lies.

    One that has no vector is taken to be in the middle of the others.
    """
    numbers = known.columns.counted[made.row]
    if not encoder:
        return numbers
    partition = known.partitions[encoder]
    place = partition.of(made.request)
    along = partition.coordinates[place]
    missing = place < 0
    if missing.any():
        along[missing] = along[~missing].mean(axis=0) if not missing.all() else 0.0
    return np.concatenate([numbers, along], axis=1, dtype=np.float32)


def _neighbourhoods(known: Experience, made: Entries) -> dict[str, Neighbourhood]:
    """Return the neighbourhood of each encoder: of the entries whose gain is known."""
    found = {}
    for name, partition in known.partitions.items():
        place = np.where(made.counts > 0, partition.of(made.request), -1).astype(np.int32)
        found[name] = neighbourhood(partition, place, made.arm, made.plain + 1)
    return found
