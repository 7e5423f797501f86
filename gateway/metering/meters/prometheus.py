"""Prometheus metrics of requests and calls; ``genai`` has those that OpenTelemetry names.

Labels of all metrics come from the configuration and from fixed lists only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
)

from gateway.metering.ledger import (
    CallFinished,
    CallRetried,
    Fact,
    RequestBegun,
    RequestFinished,
)
from gateway.metering.meters.batch import Batch, BatchHistogram, children
from techniques.core.events import Warned
from techniques.core.relayed import COMPLETIONS, EMBEDDINGS

disable_created_metrics()  # they double the series, and nobody asks when one began


_OVERHEAD: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25)
_Labels: TypeAlias = tuple[str, str, str, str, str]
"""Of a call: its model and provider, its role, how it ended, and where its cost is from."""
OUTCOMES: Final = (
    "success",
    "client_disconnect",
    "truncated",
    "rejected",
    "denied",
    "deadline",
    "unavailable",
    "held_back",
    "upstream_error",
    "technique_error",
    "internal_error",
)
"""How a request may end; each ends in exactly one of them."""


class PrometheusMeter:
    """Turns facts into metrics of *registry*."""

    def __init__(self, registry: CollectorRegistry, models: Iterable[str]) -> None:
        self._declare_requests(registry)
        self._declare_calls(registry)
        self._declare_rest(registry)
        self._child = children()
        self._batch = Batch()
        self.expect((*models, ""))

    def expect(self, models: Iterable[str]) -> None:
        """Show *models* before they are asked for: a rate needs the zero before the first."""
        for dialect in ("openai_chat", "anthropic", "openai_responses", EMBEDDINGS, COMPLETIONS):
            for of_all in (self._in_flight, self._truncated, self._disconnects):
                of_all.labels(dialect)
            for model in models:
                for outcome in OUTCOMES:
                    self._requests.labels(dialect, model, "none", outcome)

    def _declare_requests(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "lockgate_requests",
            "Client requests by how they ended.",
            ("dialect", "model", "technique", "outcome"),
            registry=registry,
        )
        self._in_flight = Gauge(
            "lockgate_requests_in_flight",
            "Client requests being served.",
            ("dialect",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self._overhead = BatchHistogram(
            "lockgate_overhead_seconds",
            "Time of the gateway's own before a call goes out, by phase.",
            ("phase",),
            buckets=_OVERHEAD,
            registry=registry,
        )

    def _declare_calls(self, registry: CollectorRegistry) -> None:
        self._tokens = Counter(
            "lockgate_tokens",
            "Tokens used, by type; cache and reasoning are parts of input and output.",
            ("model", "provider", "type"),
            registry=registry,
        )
        self._cost = Counter(
            "lockgate_cost_usd",
            "US dollars spent, where the price is known.",
            ("model", "provider", "role", "source"),
            registry=registry,
        )
        self._by_type = Counter(
            "lockgate_token_cost_usd",
            "US dollars spent, by what they were paid for: what a call read, and what it wrote.",
            ("model", "provider", "type"),
            registry=registry,
        )
        self._attempts = Counter(
            "lockgate_upstream_attempts",
            "Upstream calls by how they ended.",
            ("model", "provider", "outcome"),
            registry=registry,
        )
        self._retries = Counter(
            "lockgate_retries",
            "Failed upstream calls that were followed by another.",
            ("kind", "next"),
            registry=registry,
        )
        self._estimated = Counter(
            "lockgate_usage_estimated",
            "Upstream calls whose tokens had to be guessed.",
            ("model", "provider"),
            registry=registry,
        )

    def _declare_rest(self, registry: CollectorRegistry) -> None:
        self._truncated = Counter(
            "lockgate_truncations",
            "Answers that broke after they had begun.",
            ("dialect",),
            registry=registry,
        )
        self._disconnects = Counter(
            "lockgate_disconnects",
            "Clients that left before their answer was complete.",
            ("dialect",),
            registry=registry,
        )
        self._cancel = BatchHistogram(
            "lockgate_cancel_seconds",
            "From a client's leaving to everything of its request being closed.",
            registry=registry,
            buckets=_OVERHEAD,
        )
        self._technique_calls = BatchHistogram(
            "lockgate_technique_calls",
            "Upstream calls of one run of a technique.",
            ("technique",),
            buckets=(1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32, 64),
            registry=registry,
        )
        self._warnings = Counter(
            "lockgate_warnings", "Warnings by code.", ("code",), registry=registry
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*: what adds up is summed first, and counted once."""
        alike: defaultdict[_Labels, list[CallFinished]] = defaultdict(list)
        try:
            for fact in facts:
                if isinstance(fact, CallFinished):
                    alike[_labels(fact)].append(fact)
                else:
                    self._count(fact)
        finally:
            for labels, calls in alike.items():
                self._calls(labels, calls)
            batch, self._batch = self._batch, Batch()
            batch.observe()

    def _count(self, fact: Fact) -> None:
        match fact:
            case RequestBegun():
                self._add(1, self._in_flight, fact.dialect)
            case RequestFinished():
                self._request(fact)
            case Warned():
                self._add(1, self._warnings, fact.code)
            case CallRetried():
                self._add(1, self._retries, fact.kind, "model" if fact.moved else "attempt")
            case _:
                pass  # see the meters of pacing, of runs, of attention and of context

    def _add(self, amount: float, metric: Counter | Gauge, *labels: str) -> None:
        self._batch.count(self._child(metric, *labels), amount)

    def _observe(self, amount: float, metric: BatchHistogram, *labels: str) -> None:
        self._batch.add(self._child(metric, *labels), amount)

    def _calls(self, labels: _Labels, calls: Sequence[CallFinished]) -> None:
        """Count *calls* that are alike in *labels*."""
        model, provider, role, outcome, source = labels
        self._add(len(calls), self._attempts, model, provider, outcome)
        used = [call.usage for call in calls]
        for kind, count in (
            ("input", sum(usage.input_tokens for usage in used)),
            ("output", sum(usage.output_tokens for usage in used)),
            ("cache_read", sum(usage.cache_read_tokens for usage in used)),
            ("cache_write", sum(usage.cache_write_tokens for usage in used)),
            ("cache_write", sum(usage.cache_write_1h_tokens for usage in used)),
            ("reasoning", sum(usage.reasoning_tokens for usage in used)),
        ):
            if count:
                self._add(count, self._tokens, model, provider, kind)
        if cost := sum(call.cost or 0 for call in calls):
            self._add(cost / 1e12, self._cost, model, provider, role, source)
        parted = [call for call in calls if call.cost and call.output_cost is not None]
        if parted:
            written = sum(call.output_cost or 0 for call in parted)
            read = sum(call.cost or 0 for call in parted) - written
            self._add(read / 1e12, self._by_type, model, provider, "input")
            self._add(written / 1e12, self._by_type, model, provider, "output")
        if guessed := sum(call.estimated for call in calls):
            self._add(guessed, self._estimated, model, provider)

    def _request(self, fact: RequestFinished) -> None:
        self._add(-1, self._in_flight, fact.dialect)
        self._add(1, self._requests, fact.dialect, fact.model, fact.technique, fact.outcome)
        self._observe(fact.decode_s, self._overhead, "decode")
        self._observe(fact.plan_s, self._overhead, "plan")
        if fact.technique != "none":
            self._observe(len(fact.rows), self._technique_calls, fact.technique)
        if fact.outcome == "truncated":
            self._add(1, self._truncated, fact.dialect)
        if fact.cancel_s is not None:
            self._add(1, self._disconnects, fact.dialect)
            self._batch.add(self._cancel, fact.cancel_s)


def _labels(call: CallFinished) -> _Labels:
    return call.model, call.provider, call.role, call.outcome, call.cost_source
