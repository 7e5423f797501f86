"""Prometheus metrics of runs that are written down: what stopped, what went on, what was saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from gateway.metering.ledger import Fact, RunPutAway, RunResumed, StepAmbiguous, StepReplayed
from pricing.price import PICO

_CAUSES: Final = ("name", "body", "crash", "background")


class RunsMeter:
    """Turns facts of runs into metrics of *registry*; *models* are its labels."""

    def __init__(self, registry: CollectorRegistry, models: Iterable[tuple[str, str]]) -> None:
        def counter(name: str, about: str, labels: tuple[str, ...]) -> Counter:
            return Counter(f"lockgate_{name}", about, labels, registry=registry)

        self._suspensions = counter(
            "suspensions",
            "Runs that were put away at a rate limit, to be resumed by a later request.",
            ("model", "provider"),
        )
        self._resumes = counter(
            "run_resumes", "Runs that went on after they had stopped, by what had them.", ("cause",)
        )
        self._replayed = counter(
            "steps_replayed",
            "Sub-calls of runs that went on which were answered from the journal.",
            ("model",),
        )
        self._saved = counter(
            "run_dollars_saved",
            "Dollars that runs which went on did not pay a second time.",
            ("model",),
        )
        self._ambiguous = counter(
            "steps_ambiguous",
            "Sub-calls that were sent by a replica that is gone, and may be paid for twice.",
            ("model",),
        )
        self._away = self._gauge(
            registry, "runs_suspended", "Runs that are put away at a rate limit."
        )
        self._overdue = self._gauge(
            registry,
            "runs_overdue",
            "Runs that were put away and could have gone on a quarter of an hour ago.",
        )
        for cause in _CAUSES:
            self._resumes.labels(cause)
        self.expect(models)

    def expect(self, models: Iterable[tuple[str, str]]) -> None:
        """Show *models*, each with its provider: a rate needs the zero before the first."""
        for model, provider in models:
            self._suspensions.labels(model, provider)
            for by_model in (self._replayed, self._saved, self._ambiguous):
                by_model.labels(model)

    def _gauge(self, registry: CollectorRegistry, name: str, about: str) -> Gauge:
        return Gauge(f"lockgate_{name}", about, registry=registry, multiprocess_mode="livemax")

    def away(self, suspended: int, overdue: int) -> None:
        """Show how many runs are put away, and how many of them nobody comes back for."""
        self._away.set(suspended)
        self._overdue.set(overdue)

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        for fact in facts:
            match fact:
                case StepReplayed():
                    self._replayed.labels(fact.model).inc()
                    self._saved.labels(fact.model).inc(float(fact.saved / PICO))
                case StepAmbiguous():
                    self._ambiguous.labels(fact.model).inc()
                case RunPutAway():
                    self._suspensions.labels(fact.model, fact.provider).inc()
                case RunResumed():
                    self._resumes.labels(fact.cause).inc()
                case _:
                    pass
