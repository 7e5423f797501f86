"""What is known of one set of models, and what of that lies around one prompt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from router_service.contract import Features, RouteQuery
from router_service.estimating.entries import Entries
from router_service.estimating.experience import COUNTED, Experience, counted
from router_service.estimating.levels import COST_KAPPA, Levels
from router_service.estimating.neighbours import Near, Neighbourhood, summed
from router_service.estimating.partition import Matrix, Numbers, unit
from router_service.estimating.spreads import Spreads
from router_service.estimating.trend import Trend
from router_service.estimating.trust import Trust

_MOST_CELLS: Final = 1024


@dataclass(frozen=True, slots=True)
class Fit:
    """The levels of gains and costs, and what is left of each entry for its neighbours to tell.

    ``kappa`` is how many rows what is expected of all counts for, beside neighbours; ``trusts`` is
    how far these are to be believed, by encoder. ``encoder`` is the one by whose vectors ``trend``
    goes. ``told`` are the rows of all that neighbours are asked for: the weights of gains and of
    costs, then these. ``cells`` are known from one request to the next.
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
    told: Numbers
    cells: dict[tuple[int, ...], Cell] = field(default_factory=dict)

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
        trust = self.trusts.get(encoder if near else "", Trust())
        numbers = None
        if trust.trend and self.trend.weights:
            numbers = self._numbers(query.features, values if encoder == self.encoder else None)
        return View(self, Place(self.cell(self.groups(query.features)), numbers, near, trust))

    def cell(self, groups: Sequence[int]) -> Cell:
        """Return what is known of all who are in *groups*: reckoned for the first who asks."""
        key = tuple(groups)
        found = self.cells.get(key)
        if found is None:
            if len(self.cells) >= _MOST_CELLS:
                self.cells.clear()
            found = self.cells[key] = self._cell(key)
        return found

    def _cell(self, groups: Sequence[int]) -> Cell:
        arms = range(self.entries.plain + 1)
        return Cell(
            [self.gains.at(arm, groups) for arm in arms],
            [self.spreads.at(arm, groups) for arm in (*arms, -1)],
            [self.costs.at(arm, groups) for arm in arms],
        )

    def _numbers(self, features: Features, values: Matrix | None) -> Numbers:
        """Return how far the numbers of a request are from the middle of all.

        One without a vector is taken to be in the middle of the others.
        """
        middle = self.trend.middle
        apart = np.zeros(len(middle))
        apart[: len(COUNTED)] = counted(features) - middle[: len(COUNTED)]
        if self.encoder and values is not None:
            there = self.known.partitions[self.encoder]
            if len(values) == there.vectors.shape[1]:
                apart[len(COUNTED) :] = there.placed(values) - middle[len(COUNTED) :]
        return apart


class Cell(NamedTuple):
    """What is known of all requests in the same groups, by arm: gains, spreads and costs.

    The last of the spreads is that of an arm that was never seen.
    """

    gains: Sequence[float]
    spreads: Sequence[float]
    costs: Sequence[float]


class Place(NamedTuple):
    """Where a prompt lies: its groups, its numbers, its neighbours and how far to believe them.

    ``numbers`` is None where no trend is believed.
    """

    cell: Cell
    numbers: Numbers | None
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
        told = fit.told[:, near.rows]
        rows, means = summed(near.kernel, told[:2], told[2:])
        self._gain_rows, self._cost_rows = (near.gate * rows).tolist()
        self._gain, self._cost = means.tolist()

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
        spread = place.cell.spreads[arm]
        if arm < 0:
            return above, spread / math.sqrt(kappa), 0.0
        above += place.cell.gains[arm]
        if place.numbers is not None:
            above += place.trust.trend * self._fit.trend.at(arm, place.numbers)
        rows, surest = 0.0, kappa + self._fit.gains.rows(arm)
        if self.similarity is not None:
            rows = self._gain_rows[arm]
            above += place.trust.near * self._gain[arm] * rows / (rows + kappa * doubt)
            kappa = min((rows + kappa) / place.trust.near - rows, surest)
        return above, spread / math.sqrt(rows + kappa), rows

    def cost(self, arm: int, prior: float, doubt: float) -> float:
        """Return what *arm* is expected to cost, in plain calls; *prior*: before it was seen."""
        fit, above = self._fit, math.log(max(prior, 1e-3))
        if arm < 0:
            return prior
        usual, rows = fit.usual[arm], fit.costs.rows(arm)
        if usual is not None:
            above = (rows * math.log(usual) + COST_KAPPA * above) / (rows + COST_KAPPA)
            above += self._place.cell.costs[arm]
        if self.similarity is not None:
            near = self._cost_rows[arm]
            above += self._cost[arm] * near / (near + fit.kappa * doubt)
        return math.exp(above)

    def seconds(self, arm: int) -> float:
        """Return how much longer than the plain call *arm* usually takes, in seconds."""
        return float(self._fit.seconds[arm]) if arm >= 0 else 0.0
