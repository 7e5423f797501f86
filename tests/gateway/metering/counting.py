"""A registry as a test reads it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prometheus_client import CollectorRegistry

from gateway.metering.ledger import Fact


class Counts:
    """What *meter* makes of facts, in a registry of its own."""

    def __init__(
        self, meter: Callable[[CollectorRegistry], Callable[[Sequence[Fact]], None]]
    ) -> None:
        self.registry = CollectorRegistry()
        self._meter = meter(self.registry)

    def of(self, *facts: Fact) -> Counts:
        """Count *facts*."""
        self._meter(facts)
        return self

    def value(self, name: str, **labels: str) -> float:
        """Return the sum of the samples ``lockgate_NAME`` that have *labels*."""
        return sum(
            sample.value
            for metric in self.registry.collect()
            for sample in metric.samples
            if sample.name == f"lockgate_{name}" and labels.items() <= sample.labels.items()
        )
