from __future__ import annotations

import pytest

from gateway.admission.legacy.estimator import Terms
from gateway.admission.legacy.features import FeatureEstimator
from gateway.admission.legacy.ridge import fit

COSTS = {"chat": 100, "code": 900}


def taught(calls: int, seconds: float | None = None) -> FeatureEstimator:
    """Return an estimator that saw *calls* of two kinds, whose costs differ."""
    estimator = FeatureEstimator(Terms(min_estimate=0))
    for index in range(calls):
        kind = ("chat", "code")[index % 2]
        estimator.about({"kind": kind, "deep": kind == "code"})
        estimator.record(1000 + index, 1000 + index + COSTS[kind], seconds)
    return estimator


def test_a_cost_that_depends_on_what_a_call_is_about_is_learned() -> None:
    estimator = taught(60)

    estimator.about({"kind": "chat", "deep": False})
    chat = estimator.estimate(1030)
    estimator.about({"kind": "code", "deep": True})
    code = estimator.estimate(1030)

    assert chat == pytest.approx(1130, abs=40)
    assert code == pytest.approx(1930, abs=40)


def test_what_a_call_is_about_is_forgotten_once_it_is_recorded() -> None:
    estimator = taught(60)
    plain = estimator.estimate(1000)

    estimator.about({"kind": "code"})

    assert estimator.estimate(1000) != plain
    estimator.record(1000, 1900)
    assert estimator._context == {}


def test_few_calls_leave_the_formula() -> None:
    assert taught(5).estimate(1000) == 1000 + 650 + 280 + taught(5).correction()
    assert taught(5).sigma(100) != taught(6).sigma(100)


def test_latency_is_unknown_until_enough_calls_were_timed() -> None:
    assert taught(5, seconds=2.0).latency(1000) is None
    assert taught(60).latency(1000) is None
    assert taught(6, seconds=2.0).latency(1000) == pytest.approx(2)


def test_the_deviation_is_that_of_what_is_not_explained() -> None:
    assert taught(60).sigma(1000) < 50


def test_the_quantile_is_there_too() -> None:
    assert taught(10).upper(1000) is not None


def test_a_resumed_estimator_knows_what_the_first_did() -> None:
    first, second = taught(30, seconds=1.0), FeatureEstimator(Terms(min_estimate=0))

    second.restore(first.state())

    for estimator in (first, second):
        estimator.about({"kind": "code"})
    assert second.estimate(1000) == first.estimate(1000)
    assert second.sigma(1) == first.sigma(1)
    assert second.latency(1000) == first.latency(1000)
    assert second.samples == first.samples


def test_a_regression_without_shrinking_finds_the_line() -> None:
    rows = [{"x": float(x)} for x in range(5)]

    line = fit(rows, [3 + 2 * row["x"] for row in rows], ridge=0.0)

    assert line is not None
    assert line.at({"x": 10.0}) == pytest.approx(23)


def test_the_mean_is_not_shrunk() -> None:
    line = fit([{"x": 1.0}, {"x": 3.0}], [10.0, 20.0], ridge=1e9)

    assert line is not None
    assert line.at({"x": 2.0}) == pytest.approx(15)


@pytest.mark.parametrize(
    "rows",
    [
        [{"x": 1.0, "y": 1.0}, {"x": 2.0, "y": 1.0}],
        [{"x": float(n), "y": 2.0 * n} for n in range(9)],
    ],
    ids=["too few", "one is the other"],
)
def test_what_cannot_be_told_apart_gives_no_line(rows: list[dict[str, float]]) -> None:
    assert fit(rows, [1.0] * len(rows), ridge=0.0) is None
