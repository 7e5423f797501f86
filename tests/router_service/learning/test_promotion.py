from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from router_service.contract import Features, Observation, RouteQuery, Vector
from router_service.learning.promotion import Fit, fit_and_check
from router_service.routers.semknn import semknn
from router_service.routers.settings import RoutersSettings
from router_service.scores import Score, Scorer, Scores

ARMS = ("none", "self_consistency/5", "best_of_n/3")
GAINS = {"a": (0.0, 0.2, -0.2), "b": (0.0, -0.2, 0.2)}
"""What each arm gains for requests of each kind."""


@dataclass(frozen=True)
class Constant:
    """A router that takes the same arm for requests of a kind, and remembers what it learnt."""

    takes: Mapping[str, str]
    rows: tuple[Observation, ...] = field(default=())

    def __call__(self, query: RouteQuery) -> Scores:
        taken = self.takes[query.features.kind]
        arms = {offer.arm: Score(float(offer.arm == taken), 0.0) for offer in query.offers}
        return Scores(arms, "")

    def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> Constant:
        return Constant(self.takes, tuple(rows))


def always(a: str, b: str) -> Fit:
    return Constant({"a": a, "b": b}).learnt


PLAIN = always("none", "none")
BEST = always("self_consistency/5", "best_of_n/3")
WORST = always("best_of_n/3", "self_consistency/5")


def rows(seed: int, count: int = 400) -> list[Observation]:
    """What was observed while arms were drawn at random, plain calls mostly."""
    random = Random(seed)
    chances = (0.6, 0.2, 0.2)
    found = []
    for place in range(count):
        kind = random.choice("ab")
        (arm,) = random.choices(range(3), chances)
        plain = random.uniform(0.3, 0.6)
        quality = plain + GAINS[kind][arm] + random.uniform(-0.1, 0.1) * (arm > 0)
        where = (1.0, 0.1) if kind == "a" else (-1.0, 0.1)
        values = tuple(value + random.gauss(0, 0.2) for value in where)
        length = sum(value * value for value in values) ** 0.5
        found.append(
            Observation(
                id=f"r{place}",
                request_id=f"r{place}",
                at=float(place),
                model="m",
                arm=ARMS[arm],
                features=Features(kind=kind),
                vector=Vector(encoder="e", values=tuple(value / length for value in values)),
                quality=min(max(quality, 0.0), 1.0),
                plain_quality=plain,
                propensity=chances[arm],
                cost=(1.0, 5.0, 6.0)[arm],
            )
        )
    return found


@pytest.mark.parametrize("seed", range(5))
def test_what_is_better_is_promoted_and_what_is_worse_is_not(seed: int) -> None:
    known = rows(seed)

    assert fit_and_check(known, PLAIN, BEST).promoted
    assert fit_and_check(known, WORST, PLAIN).promoted
    assert not fit_and_check(known, PLAIN, WORST).promoted
    assert not fit_and_check(known, BEST, PLAIN).promoted


def test_what_decides_the_same_changes_nothing() -> None:
    found = fit_and_check(rows(1), BEST, BEST)

    assert found.promoted
    assert found.comparison is not None
    assert found.comparison.gain.mean == 0


def test_how_much_better_it_is_comes_out() -> None:
    found = fit_and_check(rows(1, 2000), PLAIN, BEST)

    assert found.comparison is not None
    assert found.comparison.gain.mean == pytest.approx(20 - 4.5, abs=1.5)
    assert found.comparison.gain.low > 13
    assert found.why.startswith("no worse: +")


def test_with_few_requests_nothing_is_promoted() -> None:
    found = fit_and_check(rows(1, 59), PLAIN, BEST)

    assert not found.promoted
    assert "60 are needed" in found.why


def test_what_was_not_carried_out_is_learnt_but_not_tried_on() -> None:
    known = rows(1, 80)
    more = [
        row.model_copy(update={"id": f"{row.id}:x", "counterfactual": True, "quality": 1.0})
        for row in known
    ]

    assert fit_and_check([*known, *more], PLAIN, BEST).rows == 80


def test_nobody_is_tried_on_what_it_has_learnt() -> None:
    known = rows(1, 200)
    twin = known[7].model_copy(update={"id": "twin", "request_id": "twin"})
    seen: list[tuple[set[str], list[str]]] = []

    @dataclass(frozen=True)
    class Watched(Constant):
        def __call__(self, query: RouteQuery) -> Scores:
            assert query.vector is not None
            assert query.vector not in [row.vector for row in self.rows]
            seen.append(({row.id for row in self.rows}, []))
            return super().__call__(query)

        def learnt(self, rows: Sequence[Observation], *, afresh: bool = False) -> Watched:
            return Watched(self.takes, tuple(rows))

    watched = Watched({"a": "none", "b": "none"})
    fit_and_check([*known, twin], PLAIN, watched.learnt)

    assert len(seen) == 201
    assert all({"r7", "twin"} <= ids or not {"r7", "twin"} & ids for ids, _ in seen)


def taught(known: Sequence[Observation]) -> Scorer:
    return semknn(RoutersSettings()).learnt(known, afresh=True)


def untaught(known: Sequence[Observation]) -> Scorer:
    return semknn(RoutersSettings())


def test_the_router_of_neighbours_that_learns_is_better_than_one_that_does_not() -> None:
    known = rows(3, 600)

    assert fit_and_check(known, untaught, taught).promoted
    assert not fit_and_check(known, taught, untaught).promoted
