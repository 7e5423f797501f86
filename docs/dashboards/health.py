"""Store and health: what the gateway stands on, and what was lost."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import (
    REPLICA,
    all_of,
    most,
    most_within,
    or_none,
    quantile,
    rate,
    total,
)

_STORE: Final = "lockgate_store_seconds"
_SMALL: Final = (6, 5)
_BROKEN: Final = ((0.0, "green"), (1.0, "red"))

_ALIVE: Final = Row(
    "Alive",
    (
        Panel(
            "Replicas that answer",
            (Query(f"sum (up{{{REPLICA}}} and on (instance) lockgate_store_lost)", "replicas"),),
            "Scrapes that were answered a moment ago.",
            kind="stat",
            size=_SMALL,
        ),
        Panel(
            "Shared store",
            (Query(most("lockgate_store_lost"), "lost"),),
            "1 while Redis does not answer: rate limits go on by each replica's share, budgets "
            "are closed.",
            kind="stat",
            size=_SMALL,
            steps=_BROKEN,
        ),
        Panel(
            "Models not asked for a while",
            (Query(all_of(most("lockgate_breaker_open", "provider")), "models"),),
            "Their calls failed again and again; every so often one goes to see.",
            kind="stat",
            size=_SMALL,
            steps=_BROKEN,
        ),
        Panel(
            "Holders lost",
            (Query(all_of(most_within("lockgate_orphan_leases", "provider")), "leases"),),
            "Calls whose replica was killed after it had sent them, in the time that is looked at. "
            "They stay charged.",
            kind="stat",
            size=_SMALL,
            steps=_BROKEN,
        ),
    ),
)

_STORES: Final = Row(
    "Store and database",
    (
        Panel(
            "Slow operations (p99)",
            (Query(quantile(0.99, _STORE, "store, operation"), "{{store}} {{operation}}"),),
            "Redis is asked before each call; silent for 400 ms, it counts as lost. The "
            "database is written beside the requests.",
            unit="s",
        ),
        Panel(
            "Operations",
            (Query(rate(f"{_STORE}_count", "store, operation"), "{{store}} {{operation}}"),),
            "A second.",
            unit="ops",
            stack=True,
        ),
        Panel(
            "Failed operations",
            (
                Query(
                    or_none(rate("lockgate_store_errors_total", "store, operation")),
                    "{{store}} {{operation}}",
                ),
                Query(rate("lockgate_store_losses_total"), "times the store was lost"),
            ),
            "Each is made again, or gone without.",
            unit="ops",
        ),
    ),
)

_WRITTEN: Final = Row(
    "What is written, and what was dropped",
    (
        Panel(
            "Requests in the ledger",
            (Query(rate("lockgate_ledger_requests_total", "result"), "{{result}}"),),
            "Whether the database has their rows. Anything dropped is a hole in the bill.",
            unit="reqps",
            stack=True,
        ),
        Panel(
            "Attempts to write that failed",
            (Query(rate("lockgate_ledger_failures_total"), "failed"),),
            "They are made again; rows wait until then.",
            unit="ops",
        ),
        Panel(
            "Dropped",
            (
                Query(total("lockgate_ledger_requests_total", where='result="dropped"'), "ledger"),
                Query(total("lockgate_store_drops_total"), "store"),
                Query(total("lockgate_trace_spans_total", where='result="dropped"'), "traces"),
            ),
            "Since each replica began: what could not be kept until it could be told.",
            steps=_BROKEN,
        ),
        Panel(
            "Spans of traces",
            (Query(rate("lockgate_trace_spans_total", "result"), "{{result}}"),),
            "Without a collector none are kept.",
            unit="ops",
            size=(12, 7),
        ),
        Panel(
            "Time of a scrape",
            (Query(f"scrape_duration_seconds{{{REPLICA}}}", "{{instance}}"),),
            "How long a replica takes to tell all this.",
            unit="s",
            size=(12, 7),
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-health",
    "Lockgate / Store and health",
    "What the gateway stands on, how long it takes, and what was lost.",
    (_ALIVE, _STORES, _WRITTEN),
)
