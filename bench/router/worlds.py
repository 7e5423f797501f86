"""How much of what could be gained each way of learning gains, in worlds where that is known.

``python -m bench.router.worlds`` prints a table: the share of the utility that always doing the
best thing would add to plain calls. A world has 14 places where prompts lie, and 12 arms, the first
of which is the plain call. What an arm adds is in proportion to what the plain call leaves to be
gained. Of each prompt one arm, drawn evenly, is observed; judges err by .06, each time anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from router_service.contract import Observation, Offer, RouteQuery, Vector
from router_service.estimating.experience import nothing
from router_service.estimating.partition import Matrix, Numbers
from router_service.picking import best
from router_service.routers.semknn import Semknn, fitted
from router_service.routers.settings import SemknnSettings

SIZES: Final = (60, 200, 600, 2_000, 8_000)
_PLACES, _ARMS, _WORLDS = 14, 12, 12
_WIDTH, _SPREAD = 16, 1.0
_NOISE: Final = 0.06
_ABSOLUTE_NEIGHBOURS, _NEIGHBOURS = 20, 40
_WIDE: Final = 0.12
_KAPPA, _MEAN_KAPPA = 8.0, 20.0
_NAMES: Final = ("none", *(f"arm {place}" for place in range(1, _ARMS)))

Chosen = NDArray[np.intp]


@dataclass(frozen=True)
class Prompts:
    """Prompts of one world: where they lie, and the true quality of each arm's answer."""

    vectors: Matrix
    quality: Numbers


@dataclass(frozen=True)
class Log:
    """What was observed: of each prompt one arm, and what judges said of it and the plain call."""

    vectors: Matrix
    arm: Chosen
    quality: Numbers
    plain: Numbers
    cost: Numbers

    def first(self, count: int) -> Log:
        """Return the first *count* of it."""
        return Log(
            self.vectors[:count],
            self.arm[:count],
            self.quality[:count],
            self.plain[:count],
            self.cost,
        )

    @property
    def gain(self) -> Numbers:
        """What each arm added to the plain call, by the judges."""
        return np.where(self.arm == 0, 0.0, self.quality - self.plain)


class World:
    """One world, drawn from *seed*."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        middles = self._random.standard_normal((_PLACES, _WIDTH))
        self._middles = middles / np.linalg.norm(middles, axis=1, keepdims=True)
        self._plain = self._random.uniform(0.2, 0.97, _PLACES)
        usual = self._random.normal(-0.02, 0.09, _ARMS)
        self._share = usual + self._random.normal(0.0, 0.13, (_PLACES, _ARMS))
        self._share[:, 0] = 0.0
        self.cost = np.append(1.0, np.exp(self._random.uniform(np.log(1.03), np.log(3), _ARMS - 1)))

    def prompts(self, count: int) -> Prompts:
        """Draw prompts."""
        place = self._random.integers(0, _PLACES, count)
        apart = self._random.standard_normal((count, _WIDTH)) / np.sqrt(_WIDTH)
        lie = self._middles[place] + _SPREAD * apart
        plain = self._plain[place] + self._random.normal(0.0, 0.09, count)
        plain = np.clip(plain, 0.0, 1.0)[:, None]
        quality = np.clip(plain + self._share[place] * (1.0 - plain), 0.0, 1.0)
        lie /= np.linalg.norm(lie, axis=1, keepdims=True)
        return Prompts(lie.astype(np.float32), quality)

    def log(self, count: int) -> Log:
        """Draw prompts of which one arm each is observed."""
        found = self.prompts(count)
        arm = self._random.integers(0, _ARMS, count)
        seen = found.quality[np.arange(count), arm] + self._random.normal(0, _NOISE, count)
        plain = found.quality[:, 0] + self._random.normal(0, _NOISE, count)
        return Log(found.vectors, arm, seen, plain, self.cost)

    def utility(self, found: Prompts, lambda_: float) -> Numbers:
        """Return the true utility of each arm for each prompt, in points above the plain call."""
        return 100 * (found.quality - found.quality[:, :1]) - lambda_ * (self.cost - 1)


def single(log: Log, values: Numbers, vectors: Matrix) -> Numbers:
    """Return the mean of *values* by arm, for any prompt."""
    found = np.full(_ARMS, values.mean())
    for arm in np.unique(log.arm):
        found[arm] = values[log.arm == arm].mean()
    return np.broadcast_to(found, (len(vectors), _ARMS))


def neighbours(log: Log, values: Numbers, vectors: Matrix) -> Numbers:
    """Return the mean of the 20 nearest of each arm."""
    found = np.full((len(vectors), _ARMS), values.mean())
    for arm in np.unique(log.arm):
        rows = np.flatnonzero(log.arm == arm)
        near = _nearest(vectors @ log.vectors[rows].T, _ABSOLUTE_NEIGHBOURS)
        found[:, arm] = values[rows][near].mean(axis=1)
    return found


def kernel(log: Log, values: Numbers, vectors: Matrix) -> Numbers:
    """Return what a kernel makes of the 40 nearest of each arm, shrunk towards the arm's mean."""
    found = np.full((len(vectors), _ARMS), values.mean())
    for arm in np.unique(log.arm):
        rows = np.flatnonzero(log.arm == arm)
        similar = vectors @ log.vectors[rows].T
        near = _nearest(similar, _NEIGHBOURS)
        weight = np.exp(-(1 - np.take_along_axis(similar, near, axis=1)) / _WIDE)
        count = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)
        seen = (weight * values[rows][near]).sum(axis=1) / weight.sum(axis=1)
        total = values[rows].sum() + _MEAN_KAPPA * values.mean()
        mean = total / (len(rows) + _MEAN_KAPPA)
        found[:, arm] = (count * seen + _KAPPA * mean) / (count + _KAPPA)
    return found


def _nearest(similar: Matrix, most: int) -> Chosen:
    most = min(most, similar.shape[1])
    return np.argpartition(-similar, most - 1, axis=1)[:, :most]


Estimate = Callable[[Log, Numbers, Matrix], Numbers]
_METHODS: Final[Mapping[str, tuple[Estimate, bool]]] = {
    "best single arm, absolute": (single, False),
    "best single arm, paired": (single, True),
    "plain kNN, k = 20": (neighbours, False),
    "kernel + shrinkage, absolute": (kernel, False),
    "kernel + shrinkage, paired": (kernel, True),
}
OURS: Final = {"semknn without caution": 0.0, "semknn": 0.5}


def chosen(log: Log, method: str, vectors: Matrix, lambda_: float) -> Chosen:
    """Return the arm that *method* chooses for each prompt."""
    estimate, paired = _METHODS[method]
    found = estimate(log, log.gain if paired else log.quality, vectors)
    if paired:
        found = found.copy()
        found[:, 0] = 0.0
    return np.asarray(np.argmax(100 * found - lambda_ * (log.cost - 1), axis=1))


def observations(log: Log) -> list[Observation]:
    """Return *log* as the router learns it."""
    return [
        Observation.model_construct(
            id=str(place),
            request_id=str(place),
            at=0.0,
            model="world",
            arm=_NAMES[log.arm[place]],
            vector=Vector.model_construct(encoder="world", values=tuple(log.vectors[place])),
            quality=float(log.quality[place]),
            plain_quality=float(log.plain[place]),
            cost=float(log.cost[log.arm[place]]),
        )
        for place in range(len(log.arm))
    ]


def routed(router: Semknn, vectors: Matrix, cost: Numbers, lambda_: float) -> Chosen:
    """Return the arm that the router chooses for each prompt."""
    pairs = zip(_NAMES, cost, strict=True)
    offers = tuple(Offer(arm=arm, cost=float(each)) for arm, each in pairs)
    queries = (
        RouteQuery.model_construct(
            model="world",
            offers=offers,
            vector=Vector.model_construct(encoder="world", values=tuple(each)),
            lambda_=lambda_,
        )
        for each in vectors
    )
    return np.array([_NAMES.index(best(router(query))) for query in queries])


def shares(seed: int, asked: int, lambda_: float, sizes: Sequence[int]) -> dict[str, list[float]]:
    """Return the share of what could be gained, by method, after so many rows each."""
    world = World(seed)
    log, prompts = world.log(max(sizes)), world.prompts(asked)
    worth = world.utility(prompts, lambda_)
    most = float(worth.max(axis=1).mean())
    rows = observations(log)
    found: dict[str, list[float]] = {name: [] for name in (*_METHODS, *OURS)}
    for size in sizes:
        known = nothing().grown(rows[:size])
        choices = {
            name: chosen(log.first(size), name, prompts.vectors, lambda_) for name in _METHODS
        }
        for name, caution in OURS.items():
            router = fitted(SemknnSettings(caution=caution), known)
            choices[name] = routed(router, prompts.vectors, world.cost, lambda_)
        for name, each in choices.items():
            found[name].append(float(worth[np.arange(asked), each].mean()) / most)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table: the mean over the worlds, and its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=_WORLDS)
    parser.add_argument("--prompts", type=int, default=300)
    parser.add_argument("--lambda", type=float, default=1.0, dest="lambda_")
    parser.add_argument("--rows", type=int, nargs="*", default=list(SIZES))
    stated = parser.parse_args(arguments)
    found = [
        shares(seed, stated.prompts, stated.lambda_, stated.rows) for seed in range(stated.worlds)
    ]
    sys.stdout.write(f"| rows | {' | '.join(f'{size:,}' for size in stated.rows)} |\n")
    sys.stdout.write("|---" * (1 + len(stated.rows)) + "|\n")
    for name in found[0]:
        table = np.array([each[name] for each in found])
        error = table.std(axis=0) / np.sqrt(max(len(table) - 1, 1))
        cells = (
            f"{mean:.2f} ± {of:.2f}" for mean, of in zip(table.mean(axis=0), error, strict=True)
        )
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
