"""From scores to curves of quality against cost, and to what is read off them.

Sources: the share of the gap recovered, its mean over all shares of strong calls (APGR) and the
share that recovers half of it (CPT50) are those of Ong et al. 2024, arXiv:2406.18665, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.router.sets import Numbers, Places

_TIE: Final = 0.25  # points within which the cheaper arm is taken (router_service.picking)
LAMBDAS: Final = (0.0, *(round(10 ** (step / 4), 4) for step in range(-12, 9)))
"""From pure quality to what hardly ever pays: 0, and .001 to 100 in steps of a quarter decade."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a router says of each prompt (a row) and arm (a column), beside the plain call.

    ``points`` is by how many points the arm is thought better, caution included, ``cost`` what it
    is thought to cost in plain calls; the plain call's own are 0 and 1.
    """

    points: Numbers
    cost: Numbers

    def chosen(self, lambda_: float) -> Places:
        """Return the arm of each prompt at *lambda_*; of those within a quarter point the cheapest.

        So it is chosen in a gateway.
        """
        utility = self.points - lambda_ * (self.cost - 1.0)
        near = utility > utility.max(axis=1, keepdims=True) - _TIE
        cheapest = np.where(near, self.cost, np.inf)
        least = cheapest.min(axis=1, keepdims=True)
        chosen: Places = np.where(cheapest <= least, utility, -np.inf).argmax(axis=1)
        return chosen


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean quality and mean cost, one entry a lambda."""

    lambdas: tuple[float, ...]
    quality: Numbers
    cost: Numbers

    def quality_at(self, cost: float) -> float:
        """Return the best quality that is had for *cost* on average, NaN below the cheapest.

        Between two settings some of the requests may go by one and some by the other.
        """
        cheap = self.cost <= cost
        if not cheap.any():
            return float("nan")
        found = [float(self.quality[cheap].max())]
        for low in np.flatnonzero(cheap):
            for high in np.flatnonzero(~cheap):
                share = (cost - self.cost[low]) / (self.cost[high] - self.cost[low])
                rise = self.quality[high] - self.quality[low]
                found.append(float(self.quality[low] + share * rise))
        return max(found)

    def cost_at(self, quality: float) -> float:
        """Return the least mean cost of *quality*, NaN where it is never reached."""
        good = self.quality >= quality
        if not good.any():
            return float("nan")
        found = [float(self.cost[good].min())]
        for low in np.flatnonzero(~good):
            for high in np.flatnonzero(good):
                share = (quality - self.quality[low]) / (self.quality[high] - self.quality[low])
                found.append(float(self.cost[low] + share * (self.cost[high] - self.cost[low])))
        return min(found)

    def rises(self) -> float:
        """Return by how much the cost ever rises as lambda does, as a share of the dearest."""
        return float(max(0.0, np.diff(self.cost).max(initial=0.0)) / self.cost.max())


def swept(predicted: Predicted, quality: Numbers, cost: Numbers) -> Curve:
    """Return what choosing by *predicted* comes to at each of ``LAMBDAS``."""
    every = np.arange(len(quality))
    chosen = [predicted.chosen(lambda_) for lambda_ in LAMBDAS]
    return Curve(
        LAMBDAS,
        np.array([quality[every, each].mean() for each in chosen]),
        np.array([cost[every, each].mean() for each in chosen]),
    )


@dataclass(frozen=True, slots=True)
class Recovery:
    """APGR and CPT50, an entry a drawing of prompts; the first is of all of them once."""

    apgr: Numbers
    cpt50: Numbers


def recovery(scores: Numbers, quality: Numbers, counts: Numbers) -> Recovery:
    """Return how soon the gap between two models closes if the highest *scores* go to the strong.

    *quality* has a column for the weak and one for the strong model, *counts* a row a drawing:
    how often each prompt is in it. Prompts of one score come in any order: shuffle them.
    """
    order = np.argsort(-scores, kind="stable")
    drawn = counts[:, order].astype(np.float64)
    gain = (quality[:, 1] - quality[:, 0])[order]
    share = _from_nothing(np.cumsum(drawn, axis=1))
    recovered = _from_nothing(np.cumsum(drawn * gain, axis=1))
    share /= share[:, -1:]
    gap = recovered[:, -1:]
    recovered /= np.where(gap == 0, np.nan, gap)  # a drawing may have none
    area = ((recovered[:, 1:] + recovered[:, :-1]) / 2 * np.diff(share, axis=1)).sum(axis=1)
    first = (recovered >= 0.5).argmax(axis=1)
    return Recovery(area, share[np.arange(len(share)), first])


def _from_nothing(sums: Numbers) -> Numbers:
    return np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
