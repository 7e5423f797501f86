"""What is known of one set of models, made ready to be asked about a prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from router_service.contract import Features, RouteQuery
from router_service.estimating.entries import Entries, arm_costs, entries
from router_service.estimating.experience import COUNTED, Experience, counted
from router_service.estimating.levels import COST_KAPPA, Levels, fitted, moved
from router_service.estimating.neighbours import (
    Near,
    Neighbourhood,
    Places,
    effective,
    foretold,
    mean,
    neighbourhood,
)
from router_service.estimating.partition import Matrix, Numbers, unit
from router_service.estimating.spreads import Spreads, seconds, spreads
from router_service.estimating.trend import Trend, trend
from router_service.estimating.trust import Trust, trust


class Terms(NamedTuple):
    """By what is reckoned.

    ``neighbours`` of each arm are asked; what is expected of all counts for ``kappa`` rows beside
    them. A row counts half after ``half_life_days``.
    """

    neighbours: int
    kappa: float
    half_life_days: float


@dataclass(frozen=True, slots=True)
class Fit:
    """The levels of gains and costs, and what is left of each entry for its neighbours to tell.

    ``kappa`` is how many rows what is expected of all counts for, beside neighbours; ``trusts`` is
    how far these are to be believed, by encoder. ``encoder`` is the one by whose vectors ``trend``
    goes.
    """

    known: Experience
    entries: Entries
    gains: Levels
    trend: Trend
    encoder: str
    gain_left: Numbers
    kappa: float
    trusts: Mapping[str, Trust]
    costs: Levels
    cost_left: Numbers
    usual: Sequence[float | None]
    spreads: Spreads
    seconds: Numbers
    neighbourhoods: Mapping[str, Neighbourhood]

    def groups(self, features: Features) -> Sequence[int]:
        """Return the codes of the groups of a request with *features*, -1 where new."""
        names = (features.kind, features.category, features.label, features.system)
        pairs = zip(self.known.groups, names, strict=True)
        return [known.get(name, -1) if name else -1 for known, name in pairs]

    def look(self, query: RouteQuery, most: int) -> View:
        """Return what lies around *query*: the *most* similar entries of each arm."""
        near, values, encoder = None, None, ""
        if query.vector is not None and (values := unit(query.vector)) is not None:
            encoder = query.vector.encoder
            there = self.neighbourhoods.get(encoder)
            near = there.around(values, most) if there else None
        place = Place(
            self.groups(query.features),
            self._numbers(query.features, values if encoder == self.encoder else None),
            near,
            self.trusts.get(encoder if near else "", Trust()),
        )
        return View(self, place)

    def _numbers(self, features: Features, values: Matrix | None) -> Numbers:
        """Return how far the numbers of a request are from the middle of all."""
        numbers = np.array(counted(features), np.float64)
        if self.encoder:
            there = self.known.partitions[self.encoder]
            along = np.full(there.coordinates.shape[1], np.nan, np.float32)
            if values is not None and len(values) == there.vectors.shape[1]:
                along = there.placed(values)
            numbers = np.concatenate([numbers, along])
        return np.nan_to_num(numbers - self.trend.middle)


class Place(NamedTuple):
    """Where a prompt lies: its groups, its numbers, its neighbours and how far to believe them."""

    groups: Sequence[int]
    numbers: Numbers
    near: Near | None
    trust: Trust


class View:
    """One prompt's place in a fit."""

    def __init__(self, fit: Fit, place: Place) -> None:
        near = place.near
        self._fit = fit
        self._place = place
        self.similarity = near.similarity if near else None
        self.far = near is not None and near.gate <= 0
        if near is None:
            return
        entries = fit.entries
        counts, costs = entries.counts[near.rows], entries.costs[near.rows]
        self._gain_rows = near.gate * effective(near.kernel, counts)
        self._gain = mean(near.kernel, counts, fit.gain_left[near.rows])
        self._cost_rows = near.gate * effective(near.kernel, costs)
        self._cost = mean(near.kernel, costs, fit.cost_left[near.rows])

    def code(self, arm: str) -> int:
        """Return what *arm* is known by, -1 if it was never seen."""
        return self._fit.known.arms.get(arm, -1)

    def usual(self, arm: int) -> float | None:
        """Return what *arm* usually cost, in plain calls; None if it is not known."""
        return self._fit.usual[arm] if arm >= 0 else None

    def plain_quality(self, doubt: float) -> tuple[float, float] | None:
        """Return how good the plain call's answer is expected to be, and how sure that is.

        None where nothing tells. The second is a standard deviation: values between 0 and 1 vary by
        no more than those that are one or the other.
        """
        made, kappa = self._fit.entries, self._fit.kappa
        if not self._fit.gains.rows(made.plain):
            return None
        expected, _, rows = self.gain(made.plain, made.middle, doubt)
        quality = min(max(expected, 0.0), 1.0)
        return quality, math.sqrt(quality * (1 - quality) / (rows + kappa))

    def gain(self, arm: int, above: float, doubt: float) -> tuple[float, float, float]:
        """Return what *arm* is expected to gain, its standard deviation, and rows like this one.

        *above* is what was expected before anything was seen. *doubt* is more than 1 where what was
        learnt is of other models: the estimate keeps closer to the mean of all, and is no surer.
        """
        kappa, place = self._fit.kappa, self._place
        if arm < 0:
            return above, self._fit.spreads.at(arm, place.groups) / math.sqrt(kappa), 0.0
        above += self._fit.gains.at(arm, place.groups)
        above += place.trust.trend * self._fit.trend.at(arm, place.numbers)
        rows, surest = 0.0, kappa + self._fit.gains.rows(arm)
        if self.similarity is not None:
            rows = float(self._gain_rows[arm])
            above += place.trust.near * float(self._gain[arm]) * rows / (rows + kappa * doubt)
            kappa = min((rows + kappa) / place.trust.near - rows, surest)
        return above, self._fit.spreads.at(arm, place.groups) / math.sqrt(rows + kappa), rows

    def cost(self, arm: int, prior: float, doubt: float) -> float:
        """Return what *arm* is expected to cost, in plain calls; *prior*: before it was seen."""
        fit, above = self._fit, math.log(max(prior, 1e-3))
        if arm < 0:
            return prior
        usual, rows = fit.usual[arm], fit.costs.rows(arm)
        if usual is not None:
            above = (rows * math.log(usual) + COST_KAPPA * above) / (rows + COST_KAPPA)
            above += fit.costs.at(arm, self._place.groups)
        if self.similarity is not None:
            near = float(self._cost_rows[arm])
            above += float(self._cost[arm]) * near / (near + fit.kappa * doubt)
        return math.exp(above)

    def seconds(self, arm: int) -> float:
        """Return how much longer than the plain call *arm* usually takes, in seconds."""
        return float(self._fit.seconds[arm]) if arm >= 0 else 0.0


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
    )


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
