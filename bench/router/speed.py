"""How long a decision takes with much learnt, how well its short cut finds, how long learning is.

``OPENBLAS_NUM_THREADS=1 python -m bench.router.speed`` prints a table, as of a machine of one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from router_service.contract import Features, Observation, Offer, RouteQuery, Vector
from router_service.engine import Engine
from router_service.estimating.partition import Matrix
from router_service.routers.semknn import Semknn
from router_service.settings import RouterSettings

ARMS = (
    "self_consistency/3",
    "self_consistency/5",
    "best_of_n/3",
    "best_of_n/5",
    "harq_ir/2",
    "chain_of_verification/3",
    "mixture_of_agents/3",
    "exec_bon/5",
    "none/-/smart",
    "none/-/primary/high",
    "self_consistency/3/smart",
)
KINDS = ("prose", "number", "letter", "code")
_TOWNS = 300
_MOST = 40
_SHOWN = (50, 99)


@dataclass(frozen=True)
class Row:
    """What was measured, in milliseconds: p50 and p99 of a decision, by its own time and the clock.

    Its own time is that of the processor: on a machine that does other work too, the clock's tells
    of that.
    """

    width: int
    count: int
    own: tuple[float, float]
    elapsed: tuple[float, float]
    recall: float
    whole: float
    grown: float


def vectors(count: int, width: int, seed: int) -> Matrix:
    """Return unit vectors in towns of unequal size, as prompts lie.

    What they differ in falls off as it does for those of real encoders.
    """
    random = np.random.default_rng(seed)
    fall = (1 + np.arange(width)) ** -0.35
    towns = random.standard_normal((_TOWNS, width)) * fall
    sizes = random.dirichlet(np.full(_TOWNS, 0.5))
    found = towns[random.choice(_TOWNS, count, p=sizes)]
    found = found + 0.9 * random.standard_normal((count, width)) * fall
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return np.asarray(found, np.float32)


def observations(lie: Matrix, seed: int) -> list[Observation]:
    """Return one row a vector, of arms in turn by chance."""
    random = np.random.default_rng(seed)
    arms = ("none", *ARMS)
    drawn = random.integers(0, len(arms), len(lie))
    gains = random.normal(0.03, 0.2, len(lie))
    return [
        Observation.model_construct(
            id=str(place),
            request_id=str(place),
            at=float(place),
            model="m",
            arm=arms[drawn[place]],
            features=Features(kind=KINDS[place % len(KINDS)], label=f"subject {place % 57}"),
            vector=Vector.model_construct(encoder="bench", values=tuple(values)),
            plain_quality=0.5,
            quality=min(max(0.5 + float(gains[place]), 0.0), 1.0),
            cost=3.0,
        )
        for place, values in enumerate(lie)
    ]


def queries(lie: Matrix) -> list[RouteQuery]:
    """Return a query a vector."""
    offers = (Offer(arm="none", cost=1), *(Offer(arm=arm, cost=3) for arm in ARMS))
    features = Features(kind="number", label="subject 3")
    return [
        RouteQuery(
            model="m",
            offers=offers,
            features=features,
            vector=Vector(encoder="bench", values=tuple(map(float, each))),
        )
        for each in lie
    ]


def milliseconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Return how long *work* takes by *clock*."""
    begin = clock()
    work()
    return 1000 * (clock() - begin)


def recall(scorer: Semknn, lie: Matrix) -> float:
    """Return the share of the true nearest rows of each arm that are found."""
    fit = next(iter(scorer.fits.values()))[0]
    there = fit.neighbourhoods["bench"]
    shares = []
    for values in lie:
        near = there.around(values, _MOST)
        assert near is not None
        for arm, (rows, places) in enumerate(zip(there.rows, there.places, strict=True)):
            if not len(rows):
                continue
            exact = there.partition.vectors[places] @ values
            best = rows[np.argsort(-exact)[:_MOST]]
            shares.append(np.isin(best, near.rows[arm][near.kernel[arm] > 0]).mean())
    return float(np.mean(shares))


def measured(width: int, count: int, asked: int) -> Row:
    """Measure decisions with *count* rows of *width* numbers."""
    lie = vectors(count + asked, width, seed=11)
    rows = observations(lie[:count], seed=12)
    engine = Engine(RouterSettings.model_validate({"type": "semknn"}))
    first = count - min(100, count // 2)
    whole = milliseconds(lambda: engine.learn(rows[:first]), time.process_time)
    grown = milliseconds(lambda: engine.learn(rows[first:]), time.process_time)
    made = queries(lie[count:])
    for each in made[:20]:
        engine.decide(each)
    taken = {
        clock: np.percentile(
            [milliseconds(partial(engine.decide, each), clock) for each in made], _SHOWN
        )
        for clock in (time.process_time, time.perf_counter)
    }
    assert isinstance(engine.scorer, Semknn)
    found = recall(engine.scorer, lie[count : count + 100])
    own, elapsed = taken[time.process_time], taken[time.perf_counter]
    return Row(width, count, (own[0], own[1]), (elapsed[0], elapsed[1]), found, whole, grown)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each width and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="*", default=[256, 384])
    parser.add_argument("--rows", type=int, nargs="*", default=[2_000, 50_000])
    parser.add_argument("--decisions", type=int, default=2_000)
    stated = parser.parse_args(arguments)
    sys.stdout.write(_HEAD)
    for width in stated.widths:
        for count in stated.rows:
            sys.stdout.write(_line(measured(width, count, stated.decisions)))
            sys.stdout.flush()


def _line(row: Row) -> str:
    own, elapsed = (f"{half:.2f}, {most:.2f}" for half, most in (row.own, row.elapsed))
    learnt = f"{row.whole / 1000:.1f} s | {row.grown:.0f} ms"
    return f"| {row.width} | {row.count:,} | {own} | {elapsed} | {row.recall:.3f} | {learnt} |\n"


_HEAD = (
    "| numbers | rows | p50, p99 ms | by the clock | recall | learn all | learn 100 more |\n"
    "|---|---|---|---|---|---|---|\n"
)

if __name__ == "__main__":
    main()
