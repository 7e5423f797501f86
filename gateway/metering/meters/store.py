"""Prometheus metrics of the stores: how long they take, how often they fail, what is lost."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

Store: TypeAlias = Literal["redis", "database"]
End: TypeAlias = Literal["done", "failed"]

_OPERATIONS: Final[tuple[tuple[Store, str], ...]] = (
    *(("redis", operation) for operation in ("admit", "check", "define", "peek")),
    ("database", "write"),
)
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class StoreMeter:
    """Metrics of *registry*: told by whoever asks the stores."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "lockgate_store_seconds",
            "How long the shared store or the database took for an operation.",
            ("store", "operation"),
            buckets=_SECONDS,
            registry=registry,
        )
        self._errors = Counter(
            "lockgate_store_errors",
            "Operations that the shared store or the database did not carry out in time.",
            ("store", "operation"),
            registry=registry,
        )
        self._dropped = Counter(
            "lockgate_store_drops",
            "Operations that the shared store was never told of.",
            registry=registry,
        )
        self._lost = Gauge(
            "lockgate_store_lost",
            "1 while the shared store of limits and budgets does not answer.",
            registry=registry,
            multiprocess_mode="livemax",
        )
        self._losses = Counter(
            "lockgate_store_losses",
            "How often the shared store was lost.",
            registry=registry,
        )
        self._drops_seen = 0
        for store, operation in _OPERATIONS:  # a rate needs the zero before the first
            self._errors.labels(store, operation)
        self._seconds_of: Any = cache(self._seconds.labels)

    def _took(self, store: Store, operation: str, seconds: float, end: End) -> None:
        self._seconds_of(store, operation).observe(seconds)
        if end == "failed":
            self._errors.labels(store, operation).inc()

    def asked(self, operation: str, seconds: float, end: End) -> None:
        """Count an operation of the shared store."""
        self._took("redis", operation, seconds, end)

    def wrote(self, seconds: float, end: End) -> None:
        """Count an attempt to write the ledger into the database."""
        self._took("database", "write", seconds, end)

    def dropped(self, count: int) -> None:
        """Show that *count* operations were never told of, since the process began."""
        self._dropped.inc(count - self._drops_seen)
        self._drops_seen = count

    def store(self, how: Literal["lost", "back"]) -> None:
        """Show that the shared store is lost, or is back."""
        self._lost.set(how == "lost")
        if how == "lost":
            self._losses.inc()
