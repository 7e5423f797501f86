"""Prometheus metrics of learning: what was studied, what was let go, and what all that cost."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter

Kind: TypeAlias = Literal["judge_sample", "full_trace"]
Result: TypeAlias = Literal["learnt", "nothing", "failed", "queue_full", "no_budget"]
KINDS: Final[tuple[Kind, ...]] = ("judge_sample", "full_trace")
RESULTS: Final[tuple[Result, ...]] = ("learnt", "nothing", "failed", "queue_full", "no_budget")


class LearningCounters:
    """Metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._studies = Counter(
            "lockgate_learning_studies",
            "Answers that were to be studied to learn of them, by what came of it.",
            ("kind", "result"),
            registry=registry,
        )
        self._cost = Counter(
            "lockgate_learning_cost_usd",
            "US dollars spent to learn: on studies, and on arms that were tried above the best.",
            ("kind",),
            registry=registry,
        )
        for kind in KINDS:
            for result in RESULTS:
                self._studies.labels(kind, result)
            self._cost.labels(kind)
        self._cost.labels("exploration")

    def studied(self, kind: Kind, result: Result, usd: float = 0.0) -> None:
        """Count one study, and what it cost."""
        self._studies.labels(kind, result).inc()
        self._cost.labels(kind).inc(usd)

    def explored(self, usd: float) -> None:
        """Count what an arm cost that was tried, above what the best one had."""
        self._cost.labels("exploration").inc(usd)
