from __future__ import annotations

import pytest

from router_service.contract import Features, Observation, Offer, RouteQuery
from router_service.engine import Engine
from router_service.learning.killswitch import MASK_S
from router_service.learning.watch import Watch
from router_service.settings import RouterSettings

ARM = "self_consistency/5"
WORSE = "of its last answers most were worse than plain ones"
QUERY = RouteQuery(
    model="m",
    offers=(Offer(arm="none"), Offer(arm=ARM), Offer(arm="best_of_n/3")),
    features=Features(kind="number"),
    lambda_=0,
)


def rows(gain: float, count: int = 30, *, first: int = 0, arm: str = ARM) -> list[Observation]:
    return [
        Observation(
            id=f"{arm}{place}",
            request_id=f"{arm}{place}",
            at=float(place),
            model="m",
            arm=arm,
            features=Features(kind="number"),
            quality=0.5 + gain,
            plain_quality=0.5,
            cost=2.0,
        )
        for place in range(first, first + count)
    ]


def test_arms_that_harm_are_masked_whatever_the_order_in_which_it_is_learnt() -> None:
    worse = rows(-0.2)
    whole, parts = Watch(), Watch()
    whole.learn(worse)
    parts.learn(worse[20:])
    parts.learn(worse[:20])

    assert whole.masks("m", 100.0) == parts.masks("m", 100.0) == {ARM: WORSE}
    assert whole.masks("other", 100.0) == {}
    assert whole.masks("m", MASK_S + 30) == {}


def test_what_was_said_of_a_row_later_takes_the_place_of_what_was() -> None:
    watch = Watch()
    watch.learn(rows(-0.2))
    watch.learn(rows(0.2))

    assert watch.masks("m", 100.0) == {}


def test_learning_anew_forgets() -> None:
    watch = Watch()
    watch.learn(rows(-0.2))
    watch.learn(rows(0.0, 3), afresh=True)

    assert watch.masks("m", 100.0) == {}


def test_only_so_many_rows_are_kept_the_latest() -> None:
    watch = Watch(most=50)
    watch.learn(rows(-0.2))
    watch.learn(rows(0.2, 50, first=100))

    assert watch.masks("m", 200.0) == {}


def test_a_model_that_has_changed_is_told() -> None:
    watch = Watch()
    before = [row.model_copy(update={"plain_quality": 0.9}) for row in rows(0.0, 200, arm="none")]
    watch.learn(before)
    assert not watch.drifts

    watch.learn(rows(0.0, 100, first=200, arm="none"))
    told = [value for drift in watch.drifts for value in (drift.before, drift.now)]
    assert told == pytest.approx([0.9, 0.5])


def engine(now: float) -> Engine:
    return Engine(RouterSettings(type="semknn"), clock=lambda: now)


def test_a_router_does_not_choose_what_is_masked() -> None:
    learnt = engine(100.0)
    good = rows(0.4, 200)
    learnt.learn(good)
    assert learnt.decide(QUERY).arm == ARM

    learnt.learn([*good, *rows(-0.5, 100, first=200)])
    decision = Engine(RouterSettings(type="semknn"), clock=lambda: 400.0)
    decision.learn([*good, *rows(-0.5, 100, first=200)])

    assert decision.decide(QUERY).arm != ARM
    assert decision.decide(QUERY).masked == {ARM: WORSE}


def test_the_plain_call_is_never_masked() -> None:
    learnt = engine(100.0)
    learnt.learn([*rows(-0.4), *rows(-0.4, arm="none"), *rows(-0.4, arm="best_of_n/3")])
    decision = learnt.decide(QUERY)

    assert decision.arm == "none"
    assert set(decision.masked) == {ARM, "best_of_n/3"}


def test_a_day_later_it_may_be_chosen_again() -> None:
    late = engine(400_000.0)
    late.learn(rows(-0.4))

    assert late.decide(QUERY).masked == {}
