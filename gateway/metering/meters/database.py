"""Counts what becomes of what is to be written into the database."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

from gateway.stores.database.writer import Result


class DatabaseCounters:
    """Metrics of *registry*: told by whoever writes."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "lockgate_ledger_requests",
            "Requests that have ended, by whether the database has their rows.",
            ("result",),
            registry=registry,
        )
        self._failures = Counter(
            "lockgate_ledger_failures",
            "Attempts to write the ledger that failed; they are made again.",
            registry=registry,
        )
        for result in ("written", "dropped"):
            self._requests.labels(result)

    def __call__(self, result: Result, number: int) -> None:
        """Count *number* requests, or attempts."""
        if result == "failed":
            self._failures.inc(number)
        else:
            self._requests.labels(result).inc(number)
