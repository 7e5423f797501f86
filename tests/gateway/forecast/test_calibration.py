"""Runs that were forecast, judged when they have ended."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from gateway.forecast.calibration import Calibration, pinball
from gateway.metering.ledger import CallFinished, RequestFinished
from gateway.metering.meters.forecast import ForecastMeter
from pricing.usage import Usage
from techniques.core.json import Json


def row(tokens: int = 100, cost: int | None = 10**9, **more: Any) -> CallFinished:
    """Return a call; its input is all but ten of its *tokens*."""
    told: dict[str, Any] = {
        "model": "fast",
        "provider": "acme",
        "role": "answer",
        "step": "0",
        "usage": Usage(tokens - 10, 10),
        "estimated": False,
        "cost": cost,
        "cost_source": "operator",
        "outcome": "ok",
        "started_at": 0.0,
        "seconds": 1.0,
        "first_s": 0.5,
    }
    return CallFinished(**{**told, **more})


def finished(*rows: CallFinished, **more: Any) -> RequestFinished:
    """Return a request that made the calls of *rows*."""
    told: dict[str, Any] = {
        "request_id": "r",
        "run": "job",
        "session": None,
        "tags": None,
        "key": "app",
        "dialect": "openai_chat",
        "model": "fast",
        "provider": "acme",
        "technique": "none",
        "streamed": False,
        "outcome": "success",
        "status": 200,
        "rows": rows,
        "warnings": (),
        "seconds": 2.0,
        "begun_s": None,
        "decode_s": 0.0,
        "plan_s": 0.0,
        "cancel_s": None,
    }
    return RequestFinished(**{**told, **more})


class Judged:
    """A calibration with a clock that is set by hand."""

    def __init__(self) -> None:
        self.registry, self.now = CollectorRegistry(), 100.0
        self.calibration = Calibration(ForecastMeter(self.registry), lambda: self.now)

    def keep(self, run: str = "job", key: str | None = "app", **more: Json) -> None:
        half = {"tokens": 200, "usd": "0.002", "wall_s": 10.0}
        most = {"tokens": 300, "usd": "0.003", "wall_s": 20.0}
        told = {"steps": 2, "concurrency": 1, "p50": half, "p90": most, **more}
        self.calibration.keep((key, run), told)

    def sample(self, name: str, measure: str, quantile: str, **more: str) -> float | None:
        labels = {"measure": measure, "quantile": quantile, **more}
        return self.registry.get_sample_value(name, labels)

    def loss(self, measure: str, quantile: str) -> float | None:
        return self.sample("lockgate_forecast_pinball_loss_sum", measure, quantile)


def test_the_loss_is_the_pinball() -> None:
    assert (pinball(0.75, 10, 20), pinball(0.75, 20, 10), pinball(0.5, 5, 5)) == (7.5, 2.5, 0)


def test_a_run_is_judged_when_its_last_step_has_ended() -> None:
    judged = Judged()
    judged.keep()

    judged.calibration([finished(row(150))])
    before = judged.loss("tokens", "p50")
    judged.now = 110.0
    judged.calibration([finished(row(250))])

    assert before is None
    assert judged.loss("tokens", "p50") == 0.5 * 200 / 400
    assert judged.loss("tokens", "p90") == pytest.approx(0.9 * 100 / 400)
    assert judged.loss("wall_s", "p50") == 0.5 * 2 / 12  # the first took two seconds
    assert judged.loss("usd", "p50") == 0
    runs = "lockgate_forecast_runs_total"
    assert judged.sample(runs, "tokens", "p90", below="false") == 1
    assert judged.sample(runs, "wall_s", "p90", below="true") == 1
    assert len(judged.calibration) == 0


def test_what_failed_counts_and_is_no_step() -> None:
    judged = Judged()
    judged.keep(steps=1)

    judged.calibration([finished(row(200), outcome="upstream_error"), finished(row(200))])

    assert judged.loss("tokens", "p50") == 0.5 * 200 / 400


def test_a_run_is_told_by_its_session_too_and_by_its_key() -> None:
    judged = Judged()
    judged.keep(steps=1)

    judged.calibration([finished(row(), key="other"), finished(row(), run="x", session=None)])
    still = len(judged.calibration)
    judged.calibration([finished(row(), run="x", session="job")])

    assert (still, len(judged.calibration)) == (1, 0)


def test_dollars_that_nobody_knows_are_not_judged() -> None:
    judged = Judged()
    judged.keep(steps=1)

    judged.calibration([finished(row(cost=None))])

    assert judged.loss("usd", "p50") is None
    assert judged.loss("tokens", "p50") is not None


def test_of_two_forecasts_of_a_run_the_later_counts() -> None:
    judged = Judged()
    judged.keep()
    judged.keep(steps=1)

    judged.calibration([finished(row())])

    assert len(judged.calibration) == 0


def test_no_more_than_a_thousand_runs_are_kept_and_the_oldest_goes_first() -> None:
    judged = Judged()
    for place in range(1001):
        judged.keep(f"run{place}", steps=1)

    judged.calibration([finished(row(), run="run0"), finished(row(), run="run1")])

    assert len(judged.calibration) == 999
