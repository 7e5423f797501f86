"""Prometheus metrics. Labels come from the configuration and from fixed lists only.

Families that OpenTelemetry's GenAI conventions name carry its names and buckets; the others begin
with ``lockgate_``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

from gateway.metering.ledger import (
    CallFinished,
    CallRetried,
    Fact,
    RequestBegun,
    RequestFinished,
)
from techniques.core.events import Warned

disable_created_metrics()  # they double the series, and nobody asks when one began


class BatchHistogram(Histogram):
    """A histogram that takes many values at the price of one."""

    def observe_all(self, amounts: Sequence[float]) -> None:
        """Do as ``observe`` does for each of *amounts*."""
        places = Tally(bisect_left(self._upper_bounds, amount) for amount in amounts)
        for place, count in places.items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(amounts))


MetricT = TypeVar("MetricT", Counter, Gauge, BatchHistogram)

_SECONDS: Final = tuple(0.01 * 2**power for power in range(14))
_FIRST: Final = (
    0.001,
    0.005,
    0.01,
    0.02,
    0.04,
    0.06,
    0.08,
    0.1,
    0.25,
    0.5,
    0.75,
    1,
    2.5,
    5,
    7.5,
    10,
)
_TOKENS: Final = tuple(float(4**power) for power in range(14))
_OVERHEAD: Final = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25)
_CALL: Final = ("gen_ai_request_model", "gen_ai_provider_name")

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
        self._child: Any = lru_cache(4096)(_child)
        self._sums: defaultdict[Counter | Gauge, float] = defaultdict(float)
        self._amounts: defaultdict[BatchHistogram, list[float]] = defaultdict(list)
        self.expect((*models, ""))

    def expect(self, models: Iterable[str]) -> None:
        """Show *models* before they are asked for: a rate needs the zero before the first."""
        for dialect in ("openai_chat", "anthropic"):
            self._in_flight.labels(dialect)
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
        self._duration = BatchHistogram(
            "gen_ai_server_request_duration_seconds",
            "From a request's arrival to the end of its answer.",
            ("gen_ai_request_model", "technique", "error_type"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._first = BatchHistogram(
            "gen_ai_server_time_to_first_token_seconds",
            "From a request's arrival to the first content of its answer.",
            ("gen_ai_request_model", "technique"),
            buckets=_FIRST,
            registry=registry,
        )
        self._overhead = BatchHistogram(
            "lockgate_overhead_seconds",
            "Time of the gateway's own before a call goes out, by phase.",
            ("phase",),
            buckets=_OVERHEAD,
            registry=registry,
        )

    def _declare_calls(self, registry: CollectorRegistry) -> None:
        self._call_seconds = BatchHistogram(
            "gen_ai_client_operation_duration_seconds",
            "One upstream call, from sending it to the end of its answer.",
            (*_CALL, "error_type"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._token_usage = BatchHistogram(
            "gen_ai_client_token_usage",
            "Tokens of one upstream call.",
            (*_CALL, "gen_ai_token_type"),
            buckets=_TOKENS,
            registry=registry,
        )
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
        try:
            for fact in facts:
                self._count(fact)
        finally:
            sums, self._sums = self._sums, defaultdict(float)
            for child, amount in sums.items():
                child.inc(amount)
            amounts, self._amounts = self._amounts, defaultdict(list)
            for histogram, several in amounts.items():
                histogram.observe_all(several)

    def _count(self, fact: Fact) -> None:
        match fact:
            case CallFinished():
                self._call(fact)
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
        self._sums[self._child(metric, *labels)] += amount

    def _observe(self, amount: float, metric: BatchHistogram, *labels: str) -> None:
        self._amounts[self._child(metric, *labels)].append(amount)

    def _call(self, fact: CallFinished) -> None:
        model, provider, usage = fact.model, fact.provider, fact.usage
        failed = "" if fact.outcome == "ok" else fact.outcome
        self._add(1, self._attempts, model, provider, fact.outcome)
        self._observe(fact.seconds, self._call_seconds, model, provider, failed)
        if usage.total_tokens:
            self._observe(usage.input_tokens, self._token_usage, model, provider, "input")
            self._observe(usage.output_tokens, self._token_usage, model, provider, "output")
        for kind, count in (
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens + usage.cache_write_1h_tokens),
            ("reasoning", usage.reasoning_tokens),
        ):
            if count:
                self._add(count, self._tokens, model, provider, kind)
        if fact.cost:
            dollars = fact.cost / 1e12
            self._add(dollars, self._cost, model, provider, fact.role, fact.cost_source)
        if fact.estimated:
            self._add(1, self._estimated, model, provider)

    def _request(self, fact: RequestFinished) -> None:
        self._add(-1, self._in_flight, fact.dialect)
        self._add(1, self._requests, fact.dialect, fact.model, fact.technique, fact.outcome)
        failed = "" if fact.outcome == "success" else fact.outcome
        self._observe(fact.seconds, self._duration, fact.model, fact.technique, failed)
        if fact.begun_s is not None:
            self._observe(fact.begun_s, self._first, fact.model, fact.technique)
        self._observe(fact.decode_s, self._overhead, "decode")
        self._observe(fact.plan_s, self._overhead, "plan")
        if fact.technique != "none":
            self._observe(len(fact.rows), self._technique_calls, fact.technique)
        if fact.outcome == "truncated":
            self._add(1, self._truncated, fact.dialect)
        if fact.cancel_s is not None:
            self._add(1, self._disconnects, fact.dialect)
            self._amounts[self._cancel].append(fact.cancel_s)


def _child(metric: MetricT, *labels: str) -> MetricT:
    return metric.labels(*labels)
