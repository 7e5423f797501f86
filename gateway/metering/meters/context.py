"""Prometheus metrics of conversations that were shortened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter

from gateway.metering.ledger import ContextSlimmed, Fact, SummaryTried

_CALL: Final = ("model", "provider")


class ContextMeter:
    """Turns facts into metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._slimmed = Counter(
            "lockgate_context_slimmed",
            "Conversations that were sent shorter than they came; fresh ones were cut anew.",
            (*_CALL, "method", "fresh"),
            registry=registry,
        )
        self._saved = Counter(
            "lockgate_context_tokens_saved",
            "Tokens, about, by which conversations were shortened, once for each request.",
            (*_CALL, "method"),
            registry=registry,
        )
        self._summaries = Counter(
            "lockgate_context_summaries",
            "Summaries of conversations that were thought of, by what became of them.",
            (*_CALL, "outcome"),
            registry=registry,
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        for fact in facts:
            match fact:
                case ContextSlimmed():
                    call = (fact.model, fact.provider)
                    fresh = "true" if fact.fresh else "false"
                    self._slimmed.labels(*call, fact.method, fresh).inc()
                    self._saved.labels(*call, fact.method).inc(fact.before - fact.after)
                case SummaryTried():
                    self._summaries.labels(fact.model, fact.provider, fact.outcome).inc()
                case _:
                    pass
