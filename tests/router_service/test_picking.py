from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router_service.confidence import confidence
from router_service.contract import Offer, RouteQuery
from router_service.engine import Engine
from router_service.learning.exploration import Drawn
from router_service.picking import best, decision
from router_service.scores import Score, Scores
from router_service.settings import RouterSettings
from tests.router_service.rows import near, query, row, two_towns, vector

EAST = vector(1, 0, 0)
NUMBERS = st.floats(-50, 50)
ARMS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.builds(Score, NUMBERS, NUMBERS, st.floats(-1, 1), st.floats(0, 0.5), st.floats(0.1, 20)),
    min_size=1,
)


def _scores(arms: Mapping[str, Score]) -> Scores:
    return Scores(arms, "test")


def test_the_greatest_utility_is_taken() -> None:
    assert best(_scores({"a": Score(1.0, 1.0, cost=1), "b": Score(1.3, 1.3, cost=9)})) == "b"


def test_of_two_that_are_about_equal_the_cheaper_is_taken() -> None:
    assert best(_scores({"a": Score(1.2, 1.2, cost=3), "b": Score(1.0, 1.0, cost=2)})) == "b"


def test_of_two_that_are_equal_in_all_the_one_offered_first_is_taken() -> None:
    assert best(_scores({"b": Score(0.0, 0.0), "a": Score(0.0, 0.0)})) == "b"


@given(ARMS)
def test_no_arm_is_more_than_a_quarter_of_a_point_better_than_the_one_taken(
    arms: Mapping[str, Score],
) -> None:
    taken = best(_scores(arms))

    assert all(score.utility < arms[taken].utility + 0.25 for score in arms.values())


@given(
    st.lists(st.tuples(NUMBERS, st.floats(0.1, 20)), min_size=1, max_size=8),
    st.floats(0, 20),
    st.floats(0, 20),
)
def test_a_dearer_plain_call_never_leads_to_an_arm_that_costs_more(
    arms: list[tuple[float, float]], one: float, other: float
) -> None:
    low, high = sorted((one, other))

    def cost(lambda_: float) -> float:
        scores = {
            str(place): Score(gain - lambda_ * (cost - 1), 0.0, cost=cost)
            for place, (gain, cost) in enumerate(arms)
        }
        return scores[best(_scores(scores))].cost

    assert cost(high) <= cost(low) + 1e-9


@given(ARMS)
def test_the_confidences_of_all_arms_add_up_to_one(arms: Mapping[str, Score]) -> None:
    spreads = [score.spread + 0.01 for score in arms.values()]
    means = [score.utility for score in arms.values()]

    shares = [confidence(place, means, spreads) for place in range(len(means))]

    assert sum(shares) == pytest.approx(1.0)


def test_what_is_said_with_no_spread_has_no_confidence() -> None:
    decided = decision("test", query("a", "b"), _scores({"a": Score(1, 1), "b": Score(0, 0)}))

    assert decided.confidence is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0, 1, 5, 40, 90]))
def test_more_points_a_call_never_lead_to_a_dearer_arm_of_the_router(seed: int, count: int) -> None:
    random = Random(seed)
    arms = ["none", "a/3", "b/5", "c"]
    rows = [
        row(
            f"r{place}",
            random.choice(arms),
            random.uniform(-0.5, 0.5),
            vector=near(random, 1, 1, 0, spread=0.5),
            cost=random.uniform(0.5, 9),
            propensity=0.25,
        )
        for place in range(count)
    ]
    engine = Engine(RouterSettings.model_validate({"type": "semknn"}))
    engine.learn(rows)
    asked = query(*arms, vector=near(random, 1, 1, 0, spread=0.5))

    decided = [
        engine.decide(asked.model_copy(update={"lambda_": lambda_}))
        for lambda_ in (0.0, 0.5, 1.0, 3.0, 10.0, 50.0)
    ]

    costs = [each.predicted_cost or 0.0 for each in decided]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(costs))
    assert all(math.isfinite(score) for each in decided for score in each.scores.values())
    assert all(each.arm in arms for each in decided)


def test_another_arm_than_the_best_is_taken_to_learn_of_it() -> None:
    def explore(scores: Scores, greedy: str, asked: RouteQuery) -> Drawn:
        return Drawn("best_of_n/3" if greedy == "none" else greedy, 0.1, explored=True)

    engine = Engine(RouterSettings.model_validate({"type": "semknn"}), explore=explore)

    tried = engine.decide(query("none", "best_of_n/3"))
    not_asked = engine.decide(query("none", "best_of_n/3", explore=False))

    assert (tried.arm, tried.propensity, tried.explored) == ("best_of_n/3", 0.1, True)
    assert "learn" in tried.why
    assert tried.predicted_cost == pytest.approx(3.0)
    assert (not_asked.arm, not_asked.propensity, not_asked.explored) == ("none", 1.0, False)


def test_where_nothing_is_tried_the_best_has_the_propensity_that_is_left() -> None:
    def explore(scores: Scores, greedy: str, asked: RouteQuery) -> Drawn:
        return Drawn(greedy, 0.9, explored=False)

    engine = Engine(RouterSettings.model_validate({"type": "semknn"}), explore=explore)

    decided = engine.decide(query("none", "best_of_n/3"))

    assert (decided.arm, decided.propensity, decided.explored) == ("none", 0.9, False)


def test_what_is_learnt_elsewhere_is_served_as_a_whole() -> None:
    engine = Engine(RouterSettings.model_validate({"type": "semknn"}))
    asked = query("none", "best_of_n/3", vector=EAST)

    learnt = engine.scorer.learnt(two_towns(120))
    before = engine.decide(asked).arm
    engine.serve(learnt)

    assert (before, engine.decide(asked).arm) == ("none", "best_of_n/3")


def test_only_the_newest_rows_are_kept() -> None:
    rows = [
        each.model_copy(update={"at": float(place)}) for place, each in enumerate(two_towns(90))
    ]
    engine = Engine(RouterSettings.model_validate({"type": "semknn", "semknn": {"rows": 50}}))
    newest = Engine(RouterSettings.model_validate({"type": "semknn"}))
    newest.learn(rows[40:])

    for begin in range(0, 90, 30):
        engine.learn(rows[begin : begin + 30])

    asked = query("none", "best_of_n/3", vector=EAST)
    kept, only = engine.decide(asked), newest.decide(asked)
    assert kept.scores["best_of_n/3"] == pytest.approx(only.scores["best_of_n/3"], abs=0.5)
    assert kept.similarity == only.similarity


async def test_a_decision_may_be_awaited() -> None:
    decided = await Engine().route(RouteQuery(model="m", offers=(Offer(arm="none"),)))

    assert decided.arm == "none"


def test_a_decision_is_of_plain_numbers_that_any_writer_of_json_takes() -> None:
    engine = Engine(RouterSettings.model_validate({"type": "semknn"}))
    engine.learn(two_towns(120))

    told = engine.decide(query("none", "best_of_n/3", vector=EAST)).model_dump()

    numbers = [*told["scores"].values(), *(one for one in told.values() if isinstance(one, float))]
    assert len(numbers) > 5
    assert {type(number) for number in numbers} == {float}
