from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bench.router.curves import Predicted
from bench.router.growing import grown
from bench.router.measuring import Terms, drawings, interval, measured
from bench.router.rivals import (
    RIVALS,
    Crossed,
    Task,
    category_prior,
    crossed,
    length_only,
    observations,
)
from bench.router.sets import Places
from tests.bench.router.scene import towns


def test_nobody_learns_what_is_asked() -> None:
    seen: list[Places] = []

    def spy(task: Task, known: Places, asked: Places) -> Predicted:
        assert not set(known) & set(asked)
        assert len(known) + len(asked) == len(task.routed)
        seen.append(asked)
        shape = (len(asked), 2)
        return Predicted(np.full(shape, len(seen)), np.ones(shape))

    found = crossed(spy, towns())
    assert sorted(np.concatenate(seen)) == list(range(60))
    assert [int((found.said.points[:, 1] == fold).sum()) for fold in range(1, 6)] == [12] * 5


def test_promises_of_different_folds_are_not_compared() -> None:
    points = np.array([[0, 1.0], [0, 2.0], [0, 101.0], [0, 102.0]])
    found = Crossed(Predicted(points, np.ones((4, 2))), np.array([0, 0, 1, 1]))
    assert found.ranks(1).tolist() == [0.25, 0.75, 0.25, 0.75]


def test_what_is_observed_is_paired_with_the_plain_call() -> None:
    task = towns(4, ("weak", "strong", "stronger"))
    rows = observations(task, np.array([1]))
    assert [row.arm for row in rows] == ["none/-/strong", "none/-/stronger"]
    assert [(row.quality, row.plain_quality, row.cost) for row in rows] == [(1.0, 0.0, 10.0)] * 2
    assert len(observations(task, np.array([1]), [2])) == 1


@pytest.mark.parametrize("name", ["semknn", "oracle"])
def test_what_can_be_learnt_is_learnt(name: str) -> None:
    found = measured(towns(120), Terms(drawings=50), {name: RIVALS[name]})
    assert found.recovered(name).apgr[0] > 0.7
    curve = found.curve(name)
    assert curve.quality_at(6.0) > 0.95


@pytest.mark.parametrize("name", ["random", "best fixed arm"])
def test_chance_recovers_half(name: str) -> None:
    found = measured(towns(400), Terms(repeats=5, drawings=50), {name: RIVALS[name]})
    assert found.recovered(name).apgr[0] == pytest.approx(0.5, abs=0.05)


def test_weights_are_trained_for_each_fold_or_refused() -> None:
    easy = towns(200)
    found = measured(easy, Terms(drawings=20), {"acm_linear": RIVALS["acm_linear"]})
    points = found.found["acm_linear"][0].said.points[:, 1]
    assert points[1::2].mean() > points[::2].mean() + 10

    dice = np.random.default_rng(6)
    quality = (dice.random((200, 2)) < [0.5, 0.7]).astype(float)
    noise = replace(easy, routed=replace(easy.routed, quality=quality))
    refused = measured(noise, Terms(drawings=20), {"acm_linear": RIVALS["acm_linear"]})
    assert len(set(refused.found["acm_linear"][0].said.points[:, 1].round(9))) == 5


def test_the_simple_rivals_use_what_they_are_named_for() -> None:
    task = towns(60)
    known, asked = np.arange(0, 40), np.arange(40, 60)
    by_length = length_only(task, known, asked).points[:, 1]
    sizes = [task.routed.prompts[place].features.tokens for place in asked]
    assert len(set(by_length.round(6))) == len(set(sizes))
    by_kind = category_prior(task, known, asked).points[:, 1]
    assert np.ptp(by_kind[1::2]) == np.ptp(by_kind[::2]) == 0


def test_the_strong_model_may_be_the_one_that_is_asked_for() -> None:
    task = replace(towns(60), plain=1)
    assert [task.arm(model) for model in range(2)] == ["none/-/weak", "none"]
    assert task.relative[0].tolist() == [0.1, 1.0]
    found = measured(task, Terms(drawings=20), {"oracle": RIVALS["oracle"]})
    assert found.chosen_quality("oracle", 0.0).mean() == 1.0


def test_few_observations_are_drawn_at_random_and_alike_each_time() -> None:
    first = grown(towns(600), RIVALS["oracle"], 60, (1, 3))
    again = grown(towns(600), RIVALS["oracle"], 60, (1, 3))
    assert first == again
    assert first.low < first.value < first.high or first.low == first.value


def test_an_interval_is_around_what_was_seen_once() -> None:
    counts = drawings(200, 500, 0)
    assert counts[0].tolist() == [1.0] * 200
    assert counts.sum(axis=1).tolist() == [200.0] * 501
    values = np.random.default_rng(2).random(200)
    found = interval(counts @ values / 200)
    assert found.low < found.value < found.high
    assert found.value == pytest.approx(values.mean(), rel=1e-5)
    assert found.high - found.low == pytest.approx(4 * values.std() / 200**0.5, rel=0.15)
