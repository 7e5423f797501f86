"""Prometheus metrics of pacing: what was held and for how long, and how the accounts stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from gateway.metering.ledger import CallHeld, Fact, HeaderUnread, LimitHit, NeedMet
from gateway.metering.meters.batch import Batch, BatchHistogram, children
from gateway.stores.ledger import PoolState

_SECONDS: Final = (0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
_RATIO: Final = (0.5, 0.8, 1, 1.1, 1.25, 1.6, 2, 3, 5, 10)
_CALL: Final = ("model", "provider")
_INNER: Final = frozenset({"probe"})
"""Windows of our own making, that say nothing of a provider's limits."""


class PacingMeter:
    """Turns facts, and the pools that are looked at, into metrics of *registry*.

    *models* are the configuration's names of models with the provider of each: only these are
    labels. *shown* are the names by which providers know them, with ours: windows of others are
    not shown. *alone*: each of several workers has pools of its own, and what is in them adds up.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        models: Iterable[tuple[str, str]],
        shown: dict[tuple[str, str], str],
        *,
        alone: bool = False,
    ) -> None:
        self._mode: Literal["livemax", "livesum"] = "livesum" if alone else "livemax"
        self._child = children()
        self._declare_calls(registry)
        self._declare_needs(registry)
        self._declare_pools(registry)
        self.expect(models, shown)

    def expect(self, models: Iterable[tuple[str, str]], shown: dict[tuple[str, str], str]) -> None:
        """Show *models*, and their windows as *shown*: a rate needs the zero before the first."""
        self._shown = shown
        for model, provider in models:
            for counter in (self._resumes, self._avoided):
                counter.labels(model, provider)
            self._misses.labels(model)
            for expected in ("true", "false"):
                self._hits.labels(model, provider, expected)
            for gauge in (self._queued, self._leases, self._shut, self._gone):
                gauge.labels(provider)

    def _declare_calls(self, registry: CollectorRegistry) -> None:
        self._pauses = Counter(
            "lockgate_pauses",
            "Calls that were held before a rate limit would have refused them.",
            (*_CALL, "reason", "outcome"),
            registry=registry,
        )
        self._pause_seconds = Histogram(
            "lockgate_pause_seconds",
            "How long calls were held.",
            (*_CALL, "reason"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._resumes = Counter(
            "lockgate_resumes", "Held calls that went on.", _CALL, registry=registry
        )
        self._hits = Counter(
            "lockgate_upstream_429",
            "Calls that a provider refused by a rate limit; expected where none was known.",
            (*_CALL, "expected"),
            registry=registry,
        )
        self._avoided = Counter(
            "lockgate_429_avoided",
            "Calls that would have been refused, had they been sent when they came.",
            _CALL,
            registry=registry,
        )

    def _declare_needs(self, registry: CollectorRegistry) -> None:
        self._need = BatchHistogram(
            "lockgate_need_ratio",
            "Tokens held for each token used.",
            ("model",),
            buckets=_RATIO,
            registry=registry,
        )
        self._misses = Counter(
            "lockgate_need_misses",
            "Calls that wrote more than was held for them.",
            ("model",),
            registry=registry,
        )
        self._unread = Counter(
            "lockgate_header_unparsed",
            "Headers about limits that could not be read.",
            ("provider", "header"),
            registry=registry,
        )

    def _declare_pools(self, registry: CollectorRegistry) -> None:
        def gauge(name: str, about: str, labels: tuple[str, ...]) -> Gauge:
            return Gauge(
                f"lockgate_{name}", about, labels, registry=registry, multiprocess_mode=self._mode
            )

        self._remaining = Gauge(
            "lockgate_window_remaining_ratio",
            "What is left of a window, as a part of all of it.",
            ("provider", "model", "dimension", "period"),
            registry=registry,
            multiprocess_mode="livemin",
        )
        self._queued = gauge("queue_depth", "Calls that wait for an account.", ("provider",))
        self._leases = gauge("leases", "Calls that hold something of an account.", ("provider",))
        self._shut = Gauge(
            "lockgate_breaker_open",
            "Models of an account that are not asked for a while, as they failed.",
            ("provider",),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._gone = Gauge(
            "lockgate_models_gone",
            "Models that the account did not have any more when they were last asked for.",
            ("provider",),
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._orphans = gauge(
            "orphan_leases",
            "Leases whose holder was lost after it had sent, since there is the pool.",
            ("provider",),
        )

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Count *facts*."""
        batch = Batch()
        try:
            for fact in facts:
                match fact:
                    case NeedMet():
                        self._met(fact, batch)
                    case CallHeld():
                        self._held(fact)
                    case LimitHit():
                        expected = "true" if fact.expected else "false"
                        self._hits.labels(fact.model, fact.provider, expected).inc()
                    case HeaderUnread():
                        self._unread.labels(fact.provider, fact.header).inc()
                    case _:
                        pass
        finally:
            batch.observe()

    def _met(self, fact: NeedMet, batch: Batch) -> None:
        if fact.used:
            batch.add(self._child(self._need, fact.model), fact.held / fact.used)
        if fact.missed:
            batch.count(self._child(self._misses, fact.model))

    def _held(self, fact: CallHeld) -> None:
        call = (fact.model, fact.provider)
        self._pauses.labels(*call, fact.reason, fact.outcome).inc()
        self._pause_seconds.labels(*call, fact.reason).observe(fact.seconds)
        if fact.outcome != "observed":
            self._avoided.labels(*call).inc()
        if fact.outcome == "resumed":
            self._resumes.labels(*call).inc()

    def down(self, provider: str, shut: int, gone: int) -> None:
        """Show how many models of the account *provider* are *shut* for a while, or *gone*."""
        self._shut.labels(provider).set(shut)
        self._gone.labels(provider).set(gone)

    def look(self, provider: str, state: PoolState) -> None:
        """Show how the pool of the account *provider* stands."""
        self._queued.labels(provider).set(state.queued)
        self._leases.labels(provider).set(state.leases)
        self._orphans.labels(provider).set(state.orphans)
        for window in state.windows:
            model, dimension, period = window.name.rsplit(":", 2)
            label = "*" if model == "*" else self._shown.get((provider, model))
            if label is not None and window.cap > 0 and dimension not in _INNER:
                ratio = max(window.level, 0.0) / window.cap
                self._remaining.labels(provider, label, dimension, period).set(ratio)
