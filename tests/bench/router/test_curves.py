from __future__ import annotations

import math

import numpy as np
import pytest

from bench.router.curves import LAMBDAS, Curve, Predicted, recovery, swept
from router_service import picking
from router_service.scores import Score, Scores

QUALITY = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
ONCE = np.ones((1, 5))
GAIN = QUALITY[:, 1] - QUALITY[:, 0]


def curve(*points: tuple[float, float]) -> Curve:
    return Curve(
        tuple(range(len(points))),
        np.array([quality for quality, _ in points]),
        np.array([cost for _, cost in points]),
    )


def test_who_knows_the_gains_recovers_the_gap_first_and_more_than_it() -> None:
    best = recovery(GAIN, QUALITY, ONCE)
    worst = recovery(-GAIN, QUALITY, ONCE)
    # after each fifth: 1, 2, 2, 2, 1 gaps
    assert best.apgr[0] == pytest.approx((0.5 + 1.5 + 2 + 2 + 1.5) / 5)
    assert worst.apgr[0] == pytest.approx((-0.5 - 1 - 1 - 0.5 + 0.5) / 5)
    assert best.cpt50[0] == pytest.approx(0.2)
    assert worst.cpt50[0] == pytest.approx(1.0)


def test_any_order_recovers_half_on_average() -> None:
    dice = np.random.default_rng(1)
    quality = (dice.random((4000, 2)) < [0.5, 0.8]).astype(float)
    found = [recovery(dice.random(4000), quality, np.ones((1, 4000))).apgr[0] for _ in range(40)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.01)


def test_a_prompt_drawn_twice_counts_twice_and_one_not_drawn_not_at_all() -> None:
    drawn = np.array([[2, 1, 0, 0, 1]])
    same = recovery(GAIN[[0, 0, 1, 4]], QUALITY[[0, 0, 1, 4]], np.ones((1, 4)))
    assert recovery(GAIN, QUALITY, drawn).apgr[0] == pytest.approx(same.apgr[0])


def test_the_choice_is_the_gateways() -> None:
    dice = np.random.default_rng(4)
    predicted = Predicted(dice.normal(0, 1, (200, 5)), dice.uniform(0.1, 9, (200, 5)))
    for lambda_ in (0.0, 0.3, 2.0):
        chosen = predicted.chosen(lambda_)
        for row, arm in enumerate(chosen):
            cost = predicted.cost[row]
            utility = predicted.points[row] - lambda_ * (cost - 1)
            each = {
                str(at): Score(float(utility[at]), 0.0, cost=float(cost[at])) for at in range(5)
            }
            assert picking.best(Scores(each, "")) == str(arm)


def test_what_lies_between_two_settings_is_had_by_both() -> None:
    found = curve((0.9, 3.0), (0.8, 1.0), (0.5, 0.5))
    assert found.quality_at(2.0) == pytest.approx(0.85)
    assert found.quality_at(9.0) == pytest.approx(0.9)
    assert math.isnan(found.quality_at(0.4))
    assert found.cost_at(0.85) == pytest.approx(2.0)
    assert found.cost_at(0.5) == pytest.approx(0.5)
    assert math.isnan(found.cost_at(0.95))


def test_a_setting_that_is_worse_and_dearer_is_not_used() -> None:
    found = curve((0.9, 3.0), (0.4, 2.0), (0.8, 1.0))
    assert found.quality_at(2.0) == pytest.approx(0.85)


def test_a_cost_that_rises_with_lambda_is_seen() -> None:
    assert curve((1, 4.0), (1, 2.0), (1, 1.0)).rises() == 0
    assert curve((1, 4.0), (1, 1.0), (1, 2.0)).rises() == pytest.approx(0.25)


def test_a_sweep_goes_from_the_best_to_the_cheapest() -> None:
    quality = np.array([[0.0, 1.0], [1.0, 1.0]])
    cost = np.array([[1.0, 5.0], [1.0, 5.0]])
    found = swept(Predicted(np.array([[0.0, 100.0], [0.0, 0.0]]), cost), quality, cost)
    assert found.lambdas == LAMBDAS
    assert (found.quality[0], found.cost[0]) == (1.0, 3.0)
    assert (found.quality[-1], found.cost[-1]) == (0.5, 1.0)
    assert found.rises() == 0
