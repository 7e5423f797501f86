"""Prometheus metrics of the router: what it chose, what must not be chosen, when it was missed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from gateway.metering.facts import RouterAsked
from gateway.metering.ledger import Fact
from gateway.metering.meters.batch import Batch, BatchHistogram, children

_FALLBACKS: Final = ("slow", "gone", "failed", "unread")
_SECONDS: Final = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.25, 1.0)
_FITS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60)
_OTHER: Final = "other"


class RouterMeter:
    """Turns facts into metrics of *registry*; *techniques* are the catalogue's names."""

    def __init__(self, registry: CollectorRegistry, techniques: Iterable[str]) -> None:
        self._techniques = frozenset(techniques) | {"none"}
        self._child = children()
        self._declare_choices(registry)
        self._declare_learning(registry)
        for reason in _FALLBACKS:  # a rate needs the zero before the first
            self._fallbacks.labels(reason)

    def _declare_choices(self, registry: CollectorRegistry) -> None:
        self._choices = Counter(
            "lockgate_router_choices",
            "Requests that a router chose the technique of, by its kind and what it chose.",
            ("router", "technique"),
            registry=registry,
        )
        self._fallbacks = Counter(
            "lockgate_router_fallbacks",
            "Requests that a router was to choose for and did not, by why.",
            ("reason",),
            registry=registry,
        )
        self._explored = Counter(
            "lockgate_router_explored",
            "Choices that were made to learn from them.",
            ("technique",),
            registry=registry,
        )
        self._masked = Counter(
            "lockgate_router_masked",
            "Techniques that a router was not let choose, by why.",
            ("technique", "reason"),
            registry=registry,
        )
        self._seconds = BatchHistogram(
            "lockgate_router_seconds",
            "What asking a router adds to a request: the vector of its words, and all of it.",
            ("part",),
            buckets=_SECONDS,
            registry=registry,
        )

    def _declare_learning(self, registry: CollectorRegistry) -> None:
        self._observed = Counter(
            "lockgate_router_observations",
            "What was observed of requests that a router chose for, by what became of it.",
            ("result",),
            registry=registry,
        )
        self._said = Counter(
            "lockgate_router_feedback",
            "What clients said of answers, by whether something was known of the request.",
            ("known",),
            registry=registry,
        )
        self._refreshes = Counter(
            "lockgate_router_refreshes",
            "How often it was looked for something new to learn, by how that ended.",
            ("result",),
            registry=registry,
        )
        self._fits = Histogram(
            "lockgate_router_fit_seconds",
            "How long it took to learn what was new.",
            buckets=_FITS,
            registry=registry,
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        batch = Batch()
        try:
            for fact in facts:
                if isinstance(fact, RouterAsked):
                    self._asked(fact, batch)
        finally:
            batch.observe()

    def observed(self, result: str, number: int) -> None:
        """Count observations that were ``kept`` or ``sent``, ``dropped``, or could not be kept."""
        self._observed.labels(result).inc(number)

    def said(self, *, known: bool) -> None:
        """Count what somebody said of an answer."""
        self._said.labels("yes" if known else "no").inc()

    def refreshed(self, *, done: bool) -> None:
        """Count that it was looked for something new."""
        self._refreshes.labels("done" if done else "failed").inc()

    def fitted(self, seconds: float, rows: int) -> None:
        """Count that *rows* are learnt by now."""
        del rows
        self._fits.observe(seconds)

    def _asked(self, fact: RouterAsked, batch: Batch) -> None:
        child = self._child
        if fact.fallback:
            batch.count(child(self._fallbacks, fact.fallback))
        else:
            technique = self._named(fact.technique)
            batch.count(child(self._choices, fact.router, technique))
            if fact.explored:
                batch.count(child(self._explored, technique))
        for technique, reason in fact.masked:
            batch.count(child(self._masked, self._named(technique), reason))
        batch.add(child(self._seconds, "encode"), fact.encode_s)
        batch.add(child(self._seconds, "all"), fact.seconds)

    def _named(self, technique: str) -> str:
        return technique if technique in self._techniques else _OTHER
