"""Prometheus metrics of forecasts: how many were made, and how far they were off."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

_PARTS: Final = (0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


class ForecastMeter:
    """Counts forecasts, and compares them with what came, in metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._made = Counter(
            "lockgate_forecasts", "Forecasts that were made.", ("method",), registry=registry
        )
        self._loss = Histogram(
            "lockgate_forecast_pinball_loss",
            "Pinball loss of a quantile that was forecast of a run, as a part of what came.",
            ("measure", "quantile"),
            buckets=_PARTS,
            registry=registry,
        )
        self._below = Counter(
            "lockgate_forecast_runs",
            "Runs that ended, by whether they kept below the quantile that was forecast.",
            ("measure", "quantile", "below"),
            registry=registry,
        )
        for method in ("monte_carlo", "point"):
            self._made.labels(method)

    def made(self, method: str) -> None:
        """Count a forecast that was made by *method*."""
        self._made.labels(method).inc()

    def judged(self, measure: str, quantile: str, *, loss: float, below: bool) -> None:
        """Take in the *loss* of one quantile, and whether what came was *below* it."""
        self._loss.labels(measure, quantile).observe(loss)
        self._below.labels(measure, quantile, "true" if below else "false").inc()
