"""What a router makes of traffic whose kinds differ: some answered right each time, some not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from router_service.contract import Observation, RouteQuery
from router_service.estimating.experience import nothing
from router_service.routers.semknn import Semknn, fitted
from router_service.routers.settings import SemknnSettings
from router_service.scores import Score
from tests.router_service.rows import features, query, row, vector

ARM = "self_consistency/3"
LIES = {"prose": vector(1, 0, 0), "number": vector(0, 1, 0)}
EASY, HARD = features(kind="prose"), features(kind="number")


def learnt(rows: list[Observation]) -> Semknn:
    return fitted(SemknnSettings(), nothing().grown(rows))


def asked(kind: str, *arms: str) -> RouteQuery:
    return query("none", *(arms or (ARM,)), features=features(kind=kind), vector=LIES[kind])


def scored(rows: list[Observation], kind: str, arm: str = ARM) -> Score:
    return learnt(rows)(asked(kind, arm)).arms[arm]


def plain(name: str, kind: str, quality: float) -> Observation:
    told = {"quality": quality, "plain_quality": quality, "cost": 1.0, "vector": LIES[kind]}
    return row(name, "none", None, features=features(kind=kind), **told)


def easy_and_hard(count: int = 60) -> Iterator[Observation]:
    """Yield plain calls, that are always right where it is easy, and else every second time."""
    for place in range(count):
        yield plain(f"easy{place}", "prose", 1.0)
        yield plain(f"hard{place}", "number", float(place % 2))


def tried(count: int, *, right: float = 0.5, seed: int = 5) -> Iterator[Observation]:
    """Yield tries of an arm, that is right each time where it is easy, else as often as said."""
    dice = Random(seed)
    for place in range(count):
        told = {"quality": 1.0, "plain_quality": 1.0, "features": EASY}
        yield row(f"easy-try{place}", ARM, None, **told)
        told = {"quality": float(dice.random() < right), "plain_quality": float(place % 2)}
        yield row(f"hard-try{place}", ARM, None, features=HARD, **told)


def test_where_plain_answers_are_right_nothing_that_costs_more_is_worth_a_try() -> None:
    rows = list(easy_and_hard())

    assert scored(rows, "prose").optimistic < 10
    assert scored(rows, "number").optimistic > 15


def test_no_more_is_expected_than_there_is_to_be_gained() -> None:
    hard = [one for one in tried(60, right=1.0) if one.features == HARD]
    rows = [*easy_and_hard(), *hard]

    assert scored(rows, "number").gain > 0.3
    assert scored(rows, "prose").gain < 0.1


def test_nobody_is_as_sure_of_what_is_a_throw_of_a_coin_as_of_what_is_always_right() -> None:
    rows = [*easy_and_hard(), *tried(40)]

    assert scored(rows, "number").spread > 2 * scored(rows, "prose").spread


def test_what_a_few_calls_cost_is_believed() -> None:
    few = [row(f"r{place}", ARM, 0.1, cost=200.0, features=HARD) for place in range(3)]

    assert 60 < scored(few, "number").cost < 200


@pytest.mark.parametrize("shared", [True, False])
def test_an_arm_that_was_tried_beside_bad_plain_answers_gains_no_more_by_that(
    *, shared: bool
) -> None:
    """``shared``: where the plain answer is wrong, the other one mostly is, too: it is no luck."""
    dice = Random(3)
    rows = [plain(f"p{place}", "number", float(place % 2)) for place in range(200)]
    for place in range(200):
        arm, often = (ARM, 0.3) if place % 2 else ("self_consistency/5", 0.7)
        base = float(dice.random() < often)
        own = base if shared else float(dice.random() < 0.8)
        told = {"quality": own, "plain_quality": base}
        rows.append(row(f"r{place}", arm, None, features=HARD, **told))
    each = learnt(rows)(asked("number", ARM, "self_consistency/5")).arms

    apart = each[ARM].gain - each["self_consistency/5"].gain
    assert apart == pytest.approx(0.0, abs=0.08)
