"""What is known of one set of models, made ready to be asked about a prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from router_service.contract import Features, RouteQuery
from router_service.entries import Entries, arm_costs, entries
from router_service.experience import Experience
from router_service.levels import ARM_KAPPA, Levels, fitted, total
from router_service.neighbours import Near, Neighbourhood, effective, mean, neighbourhood
from router_service.partition import Codes, Numbers, unit

_FLOOR: Final = 0.05
_UNSEEN: Final = 0.5  # as wide as a coin: what nobody saw yet may be anything
_UNSEEN_ROWS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Fit:
    """The levels of gains and costs, and what is left of each entry for its neighbours to tell."""

    known: Experience
    entries: Entries
    gains: Levels
    gain_left: Numbers
    costs: Levels
    cost_left: Numbers
    usual: Sequence[float | None]
    spreads: Numbers
    seconds: Numbers
    neighbourhoods: Mapping[str, Neighbourhood]

    def groups(self, features: Features) -> Sequence[int]:
        """Return the codes of the groups of a request with *features*, -1 where new."""
        names = (features.kind, features.category, features.label, features.system)
        pairs = zip(self.known.groups, names, strict=True)
        return [known.get(name, -1) if name else -1 for known, name in pairs]

    def look(self, query: RouteQuery, most: int) -> View:
        """Return what lies around *query*: the *most* similar entries of each arm."""
        near = None
        if query.vector is not None and (values := unit(query.vector)) is not None:
            there = self.neighbourhoods.get(query.vector.encoder)
            near = there.around(values, most) if there else None
        return View(self, self.groups(query.features), near)


class Shrinkage(NamedTuple):
    """How far neighbours must outnumber what is expected of all, before they are believed.

    ``doubt`` is more where what was learnt is of other models. It makes the estimate keep closer
    to the mean of all; it makes nothing surer.
    """

    kappa: float
    doubt: float = 1.0

    @property
    def towards(self) -> float:
        """How many rows the mean of all counts for."""
        return self.kappa * self.doubt


class View:
    """One prompt's place in a fit."""

    def __init__(self, fit: Fit, groups: Sequence[int], near: Near | None) -> None:
        self._fit = fit
        self._groups = groups
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

    def plain_quality(self, shrinkage: Shrinkage) -> float | None:
        """Return how good the plain call's answer is expected to be, None where nothing tells."""
        made = self._fit.entries
        if not self._fit.gains.rows(made.plain):
            return None
        quality, _, _ = self.gain(made.plain, made.middle, shrinkage)
        return min(max(quality, 0.0), 1.0)

    def gain(self, arm: int, above: float, shrinkage: Shrinkage) -> tuple[float, float, float]:
        """Return what *arm* is expected to gain, its standard deviation, and rows like this one.

        *above* is what was expected before anything was seen.
        """
        rows, here = 0.0, 0.0
        if self.similarity is not None and arm >= 0:
            rows, here = float(self._gain_rows[arm]), float(self._gain[arm])
        if arm >= 0:
            above += self._fit.gains.at(arm, self._groups)
        spread = float(self._fit.spreads[arm]) / math.sqrt(rows + shrinkage.kappa)
        kappa = shrinkage.towards
        return above + here * rows / (rows + kappa), spread, rows

    def cost(self, arm: int, prior: float, shrinkage: Shrinkage) -> float:
        """Return what *arm* is expected to cost, in plain calls; *prior*: before it was seen."""
        fit, above = self._fit, math.log(max(prior, 1e-3))
        if arm < 0:
            return prior
        usual, rows = fit.usual[arm], fit.costs.rows(arm)
        if usual is not None:
            above = (rows * math.log(usual) + ARM_KAPPA * above) / (rows + ARM_KAPPA)
            above += fit.costs.at(arm, self._groups)
        if self.similarity is not None:
            near = float(self._cost_rows[arm])
            above += float(self._cost[arm]) * near / (near + shrinkage.towards)
        return math.exp(above)

    def seconds(self, arm: int) -> float:
        """Return how much longer than the plain call *arm* usually takes, in seconds."""
        return float(self._fit.seconds[arm]) if arm >= 0 else 0.0


def fit(known: Experience, profile: str, half_life_days: float) -> Fit:
    """Return what *known* tells of the models of *profile*."""
    made = entries(known, profile, half_life_days)
    usual = [*arm_costs(known.columns, known.columns.cost, made.plain), None]
    return _fit(known, made, usual, _neighbourhoods(known, made))


def weakened(whole: Fit, share: float) -> Fit:
    """Return *whole* with each row at *share* of its weight."""
    made = whole.entries
    made = replace(made, counts=share * made.counts, costs=share * made.costs)
    return _fit(whole.known, made, whole.usual, whole.neighbourhoods)


def _fit(
    known: Experience,
    made: Entries,
    usual: Sequence[float | None],
    neighbourhoods: Mapping[str, Neighbourhood],
) -> Fit:
    gains, gain_left = fitted(made.value, made.counts, made.arm, made.groups)
    apart = np.array([math.log(each) if each else 0.0 for each in usual])[made.arm]
    costs, cost_left = fitted(made.cost - apart, made.costs, made.arm, made.groups)
    return Fit(
        known,
        made,
        gains,
        gain_left,
        costs,
        cost_left,
        usual,
        _spreads(gain_left, made.counts, made.arm, made.plain + 1),
        _seconds(known),
        neighbourhoods,
    )


def _spreads(left: Numbers, counts: Numbers, arms: Codes, size: int) -> Numbers:
    """Return the standard deviation of what is left of each arm; the last is for any other."""
    rows = total(arms, counts, size)
    squares = total(arms, counts * left**2, size)
    together = (squares[:-1].sum() + _UNSEEN_ROWS * _UNSEEN**2) / (rows[:-1].sum() + _UNSEEN_ROWS)
    own = (squares + _UNSEEN_ROWS * together) / (rows + _UNSEEN_ROWS)
    spreads: Numbers = np.maximum(np.sqrt(np.append(own, together)), _FLOOR)
    return spreads


def _seconds(known: Experience) -> Numbers:
    """Return how much longer each arm takes than the plain call, shrunk as gains are."""
    columns = known.columns
    there = np.flatnonzero(~np.isnan(columns.latency))
    size = len(known.arms)
    rows = np.bincount(columns.arm[there], minlength=size)
    sums = np.bincount(columns.arm[there], columns.latency[there] / 1000, size)
    plain = known.arms.get("none", -1)
    if plain < 0 or not rows[plain]:
        return np.zeros(size)
    return np.where(rows > 0, (sums - rows * sums[plain] / rows[plain]) / (rows + ARM_KAPPA), 0.0)


def _neighbourhoods(known: Experience, made: Entries) -> dict[str, Neighbourhood]:
    """Return the neighbourhood of each encoder: of the entries whose gain is known."""
    found = {}
    for name, partition in known.partitions.items():
        place = np.where(made.counts > 0, partition.of(made.request), -1).astype(np.int32)
        found[name] = neighbourhood(partition, place, made.arm, made.plain + 1)
    return found
