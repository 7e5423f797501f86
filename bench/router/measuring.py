"""Runs the rivals on a set, and puts intervals around what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from bench.router.curves import Curve, Recovery, recovery, swept
from bench.router.rivals import RIVALS, Crossed, Rival, Task, crossed
from bench.router.sets import Numbers, RoutedSet
from router_service.contract import Encoder, Vector

_ENDS: Final = (2.5, 97.5)
_PAIR: Final = 2


class Interval(NamedTuple):
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def interval(drawn: Numbers) -> Interval:
    """Return the first of *drawn*, and between which ends 95 % of the others lie."""
    low, high = np.nanpercentile(drawn[1:], _ENDS)
    return Interval(float(drawn[0]), float(low), float(high))


@dataclass(frozen=True, slots=True)
class Terms:
    """How it is measured: so many divisions into *folds*, so many drawings, beginning at *seed*."""

    folds: int = 5
    repeats: int = 1
    drawings: int = 1000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """What each rival predicted for each prompt of a set, in each of the divisions."""

    task: Task
    terms: Terms
    found: Mapping[str, Sequence[Crossed]]

    def recovered(self, rival: str) -> Recovery:
        """Return APGR and CPT50 of *rival* between two models, the mean over the divisions."""
        counts = drawings(len(self.task.routed), self.terms.drawings, self.terms.seed)
        each = [
            recovery(shuffled, quality, drawn)
            for shuffled, quality, drawn in self._shuffled(rival, counts)
        ]
        return Recovery(
            np.mean([one.apgr for one in each], axis=0),
            np.mean([one.cpt50 for one in each], axis=0),
        )

    def _shuffled(self, rival: str, counts: Numbers) -> list[tuple[Numbers, Numbers, Numbers]]:
        """Return scores, qualities and counts in an order in which ties mean nothing."""
        plain, routed = self.task.plain, self.task.routed
        strong = 1 - plain
        order = np.random.default_rng(self.terms.seed).permutation(len(routed))
        quality = routed.quality[:, [plain, strong]][order]
        return [
            (found.taken(order).ranks(strong), quality, counts[:, order])
            for found in self.found[rival]
        ]

    def curve(self, rival: str) -> Curve:
        """Return cost and quality by lambda, the mean over the divisions."""
        routed = self.task.routed
        each = [swept(found.said, routed.quality, routed.cost) for found in self.found[rival]]
        return Curve(
            each[0].lambdas,
            np.mean([one.quality for one in each], axis=0),
            np.mean([one.cost for one in each], axis=0),
        )

    def chosen_quality(self, rival: str, lambda_: float) -> Numbers:
        """Return the quality of what is chosen for each prompt at *lambda_*, over the divisions."""
        routed = self.task.routed
        every = np.arange(len(routed))
        each = [routed.quality[every, one.said.chosen(lambda_)] for one in self.found[rival]]
        quality: Numbers = np.mean(each, axis=0)
        return quality

    def mean(self, values: Numbers) -> Interval:
        """Return the mean of *values*, one a prompt, with its interval."""
        counts = drawings(len(values), self.terms.drawings, self.terms.seed)
        return interval(counts @ values / len(values))


@lru_cache(4)
def drawings(count: int, times: int, seed: int) -> Numbers:
    """Return how often each of *count* prompts is drawn, a row a drawing; first each once."""
    dice = np.random.default_rng(seed)
    drawn = dice.multinomial(count, np.full(count, 1 / count), size=times)
    return np.concatenate([np.ones((1, count)), drawn]).astype(np.float32)


def measured(task: Task, terms: Terms, rivals: Mapping[str, Rival] = RIVALS) -> Measured:
    """Run *rivals* on *task*."""
    found = {
        name: [
            crossed(rival, replace(task, seed=terms.seed + repeat), terms.folds)
            for repeat in range(terms.repeats)
        ]
        for name, rival in rivals.items()
    }
    return Measured(task, terms, found)


def is_pair(routed: RoutedSet) -> bool:
    """Tell whether there is one weak and one strong model."""
    return len(routed.models) == _PAIR


def vectors_of(routed: RoutedSet, encoder: Encoder) -> list[Vector | None]:
    """Return the vectors of the prompts of *routed*."""

    async def encoded() -> list[Vector | None]:
        return [await encoder.encode(prompt.text) for prompt in routed.prompts]

    return asyncio.run(encoded())
