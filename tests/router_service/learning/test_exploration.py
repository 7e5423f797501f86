from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.contract import Offer, RouteQuery
from router_service.learning.exploration import Drawn, Terms, eligible, explored
from router_service.learning.purse import Allowance
from router_service.learning.settings import ExplorationSettings
from router_service.scores import Score, Scores

ENOUGH = Allowance(1.0, 10.0)
SETTINGS = ExplorationSettings()


def query(*, usd: float | None = 0.01, explore: bool = True) -> RouteQuery:
    return RouteQuery(model="m", offers=(Offer(arm="none"),), plain_usd=usd, explore=explore)


def scores(**arms: tuple[float, float, float]) -> Scores:
    """Arms with utility, optimistic utility and cost."""
    return Scores({name: Score(u, o, cost=cost) for name, (u, o, cost) in arms.items()}, "")


def terms(dice: float = 0.0, allowance: Allowance = ENOUGH) -> Terms:
    return Terms(allowance, SETTINGS, dice)


SOME = scores(none=(0, 0, 1), good=(2, 3, 3), maybe=(1, 2.5, 2), never=(-3, 1, 2), free=(0, 4, 1))
SCORES = st.dictionaries(
    st.sampled_from(["none", "a", "b", "c", "d"]),
    st.builds(
        Score,
        st.floats(-5, 5),
        st.floats(-5, 9),
        cost=st.floats(0, 9),
    ),
    min_size=1,
).map(lambda arms: Scores(arms, ""))
ALLOWANCES = st.builds(Allowance, st.floats(0, 0.2), st.floats(0, 0.5))


def best(found: Scores) -> str:
    return max(found.arms, key=lambda arm: found.arms[arm].utility)


def test_what_may_be_better_than_the_best_is_worth_a_try() -> None:
    assert set(eligible(SOME, "good", query(), terms())) == {"maybe", "free"}


def test_what_costs_less_costs_nothing_and_what_costs_more_the_difference() -> None:
    assert eligible(SOME, "maybe", query(), terms()) == {"good": 0.01, "free": 0.0}


def test_without_a_price_only_what_costs_no_more_is_tried() -> None:
    assert set(eligible(SOME, "maybe", query(usd=None), terms())) == {"free"}


def test_a_request_that_is_not_to_be_tried_on_is_not() -> None:
    assert eligible(SOME, "maybe", query(explore=False), terms()) == {}
    assert explored(SOME, "maybe", query(explore=False), terms()) == Drawn(
        "maybe", 1.0, explored=False, expected_usd=0.02
    )


@pytest.mark.parametrize(
    ("allowance", "arms"),
    [
        (Allowance(0.04, 10.0), {"good", "free"}),
        (Allowance(0.039, 10.0), {"free"}),
        (Allowance(0.02, 0.03), {"free"}),
        (Allowance(0.0, 0.0), {"free"}),
    ],
)
def test_dear_arms_wait_until_there_is_enough_for_them(
    allowance: Allowance, arms: set[str]
) -> None:
    assert set(eligible(SOME, "maybe", query(), terms(allowance=allowance))) == arms


@pytest.mark.parametrize(
    ("left_usd", "arms"),
    [
        (0.19, {"b", "c", "e", "f", "free"}),
        (0.17, {"b", "c", "free"}),
        (0.081, {"b", "c", "free"}),
        (0.079, {"free"}),
    ],
)
def test_the_cheaper_half_does_not_wait_for_what_the_dearest_needs(
    left_usd: float, arms: set[str]
) -> None:
    costs = {"b": 2, "c": 3, "e": 5, "f": 5.5, "free": 1}
    found = scores(none=(0, 0, 1), **{arm: (-1, 5, cost) for arm, cost in costs.items()})

    assert set(eligible(found, "none", query(), terms(allowance=Allowance(left_usd, 10.0)))) == arms


def test_a_try_may_cost_four_times_what_is_expected_of_it_and_the_budget_holds() -> None:
    allowance = Allowance(0.1, 10.0)
    found = eligible(SOME, "maybe", query(), terms(allowance=allowance))

    assert all(4 * extra <= allowance.left_usd for extra in found.values())


def test_one_request_may_not_cost_more_than_its_cap() -> None:
    assert set(eligible(SOME, "maybe", query(usd=0.06), terms())) == {"free"}


@given(SCORES, ALLOWANCES)
def test_the_chances_of_all_arms_sum_to_one(found: Scores, allowance: Allowance) -> None:
    greedy = best(found)
    arms = eligible(found, greedy, query(), terms(allowance=allowance))
    rate = SETTINGS.rate
    drawn = [
        explored(found, greedy, query(), terms(dice, allowance))
        for dice in (rate, *((place + 0.5) * rate / len(arms) for place in range(len(arms))))
    ]

    assert greedy not in arms
    assert {one.arm for one in drawn} == {greedy, *arms}
    assert sum(one.propensity for one in drawn) == pytest.approx(1)
    assert all(0 < one.propensity <= 1 for one in drawn)
    assert all(one.explored == (one.arm != greedy) for one in drawn)


@given(SCORES, ALLOWANCES, st.floats(0, 1, exclude_max=True))
def test_nothing_is_tried_that_there_is_no_money_for(
    found: Scores, allowance: Allowance, dice: float
) -> None:
    drawn = explored(found, best(found), query(), terms(dice, allowance))

    assert drawn.extra_usd <= min(allowance.left_usd / 4, SETTINGS.max_usd)
    assert drawn.extra_usd == 0 or drawn.explored


def test_arms_are_drawn_as_often_as_their_propensity_says() -> None:
    random, draws = Random(5), 40_000
    drawn = [explored(SOME, "good", query(), terms(random.random())) for _ in range(draws)]
    seen = Counter(one.arm for one in drawn)
    told = {one.arm: one.propensity for one in drawn}

    assert told == {"good": 0.9, "maybe": pytest.approx(0.05), "free": pytest.approx(0.05)}
    for arm, propensity in told.items():
        deviation = (propensity * (1 - propensity) / draws) ** 0.5
        assert seen[arm] / draws == pytest.approx(propensity, abs=4 * deviation)
