"""Prometheus metrics of techniques: what they cost beside a plain call, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from gateway.metering.facts import LEARNING, Agreed
from gateway.metering.ledger import CallFinished, Fact, RequestFinished, Route
from gateway.metering.meters.batch import Batch, children
from techniques.core.events import Warned

_PICO: Final = 10**12
_TIMES: Final = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 50)
_SHARES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
_ROUTES: Final[tuple[Route, ...]] = ("default", "asked", "model_slug", "auto")
_DOWNGRADES: Final = {
    "technique_masked": "masked",
    "technique_failed": "failed",
    "technique_replaced": "replaced",
    "cap_reached": "cap",
    "deadline_reached": "deadline",
}
"""Warnings of a technique that was not carried out as it was meant, by the reason for it."""


class TechniqueMeter:
    """Turns facts into metrics of *registry*; *techniques* are the catalogue's names."""

    def __init__(self, registry: CollectorRegistry, techniques: Iterable[str]) -> None:
        self._techniques = frozenset(techniques)
        self._child = children()
        self._declare_runs(registry)
        self._declare_money(registry)
        for route in _ROUTES:  # a rate needs the zero before the first
            self._decisions.labels(route, "none")

    def _declare_runs(self, registry: CollectorRegistry) -> None:
        self._runs = Counter(
            "lockgate_technique_runs",
            "Requests that a technique was to answer, by how they ended.",
            ("technique", "outcome"),
            registry=registry,
        )
        self._downgrades = Counter(
            "lockgate_technique_downgrades",
            "Techniques that were not carried out as they were meant, by the reason for it.",
            ("technique", "reason"),
            registry=registry,
        )
        self._agreement = Histogram(
            "lockgate_technique_agreement",
            "The part of the votes that the answer had, where a technique counts votes.",
            ("technique",),
            buckets=_SHARES,
            registry=registry,
        )
        self._decisions = Counter(
            "lockgate_router_decisions",
            "Requests by who chose their technique, and which.",
            ("by", "technique"),
            registry=registry,
        )

    def _declare_money(self, registry: CollectorRegistry) -> None:
        self._cost = Counter(
            "lockgate_technique_cost_usd",
            "US dollars spent under a technique, by the part that a call played in it.",
            ("technique", "role"),
            registry=registry,
        )
        self._waste = Counter(
            "lockgate_waste_usd",
            "US dollars spent on calls that were cut off or failed, by how they ended.",
            ("technique", "reason"),
            registry=registry,
        )
        self._multiple = Histogram(
            "lockgate_technique_cost_multiple",
            "What a run of a technique cost, as a multiple of its first call.",
            ("technique",),
            buckets=_TIMES,
            registry=registry,
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        batch = Batch()
        try:
            for fact in facts:
                match fact:
                    case RequestFinished():
                        self._request(fact, batch)
                    case Agreed():
                        self._agreement.labels(fact.technique).observe(fact.share)
                    case _:
                        pass
        finally:
            batch.observe()

    def _request(self, fact: RequestFinished, batch: Batch) -> None:
        self._costs(fact, batch)
        if fact.dialect == LEARNING:
            return
        technique = fact.technique
        batch.count(self._child(self._decisions, fact.route, technique))
        if not fact.warnings and technique == "none":
            return
        for lost, reason in self._downgraded(fact):
            self._downgrades.labels(lost, reason).inc()
        if technique != "none":
            self._runs.labels(technique, fact.outcome).inc()
            if (times := _multiple(fact.rows)) is not None:
                self._multiple.labels(technique).observe(times)

    def _costs(self, fact: RequestFinished, batch: Batch) -> None:
        technique, child = fact.technique, self._child
        for row in fact.rows:
            if row.cost:
                dollars = row.cost / _PICO
                batch.count(child(self._cost, technique, row.role), dollars)
                if row.outcome != "ok":
                    batch.count(child(self._waste, technique, row.outcome), dollars)

    def _downgraded(self, fact: RequestFinished) -> Iterator[tuple[str, str]]:
        """Yield what was not carried out as it was meant, and why, each once."""
        for reason in {_DOWNGRADES[w.code] for w in fact.warnings if w.code in _DOWNGRADES}:
            if fact.technique != "none":
                yield fact.technique, reason
            elif reason == "masked":  # a plain call stands in for it, and the warning names it
                for name in filter(None, map(self._named, fact.warnings)):
                    yield name, reason

    def _named(self, warned: Warned) -> str | None:
        name = warned.detail.partition(":")[0]
        return name if warned.code == "technique_masked" and name in self._techniques else None


def _multiple(rows: Sequence[CallFinished]) -> float | None:
    """Return how often the cost of the call that was sent first is in that of all *rows*.

    None if that cannot be told: a price is not known, or that call was free.
    """
    answered = [row for row in rows if row.outcome == "ok"]
    first = min(answered, key=lambda row: row.started_at, default=None)
    costs = [row.cost for row in rows if row.cost is not None]
    if first is None or not first.cost or len(costs) < len(rows):
        return None
    return sum(costs) / first.cost
