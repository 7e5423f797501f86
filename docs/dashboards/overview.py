"""The first page: is it well, who waits, what does it cost."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import all_of, hourly, mean, most, quantile, rate, some, total

_DURATION: Final = "gen_ai_server_request_duration_seconds"
_FIRST: Final = "gen_ai_server_time_to_first_token_seconds"
_OURS: Final = 'outcome=~"internal_error|truncated|upstream_error|technique_error|unavailable"'
_BY_MODEL: Final = "gen_ai_request_model"

_SMALL: Final = (4, 5)

_NOW: Final = Row(
    "Now",
    (
        Panel(
            "Requests",
            (Query(rate("lockgate_requests_total"), "requests"),),
            "Client requests that ended, a second.",
            kind="stat",
            unit="reqps",
            size=_SMALL,
        ),
        Panel(
            "Not failed by us",
            (
                Query(
                    f"1 - ({rate('lockgate_requests_total', where=_OURS)} or vector(0)) "
                    f"/ ({rate('lockgate_requests_total')} > 0)",
                    "not failed",
                ),
            ),
            "The part of all requests that did not end in a failure of the gateway's or a "
            "provider's. What a client "
            "did wrong, or may not do, is not a failure.",
            kind="stat",
            unit="percentunit",
            size=_SMALL,
            steps=((float("-inf"), "red"), (0.98, "yellow"), (0.995, "green")),
            range=(0, 1),
        ),
        Panel(
            "In flight",
            (Query(total("lockgate_requests_in_flight"), "in flight"),),
            "Client requests that are being served.",
            kind="stat",
            size=_SMALL,
        ),
        Panel(
            "Held now",
            (Query(all_of(most("lockgate_queue_depth", "provider")), "held"),),
            "Calls that wait for a rate limit. They go by themselves; see Pacing for why.",
            kind="stat",
            size=_SMALL,
            steps=((0, "green"), (1, "yellow"), (100, "orange")),
        ),
        Panel(
            "Slow requests (p95)",
            (Query(quantile(0.95, _DURATION), "p95"),),
            "Nineteen of twenty requests end sooner.",
            kind="stat",
            unit="s",
            size=_SMALL,
        ),
        Panel(
            "Spent an hour",
            (Query(hourly("lockgate_cost_usd_total"), "an hour"),),
            "US dollars, at the present pace. Calls without a price are not in it; see Money.",
            kind="stat",
            unit="currencyUSD",
            size=_SMALL,
        ),
    ),
)

_REQUESTS: Final = Row(
    "Requests",
    (
        Panel(
            "Requests by how they end",
            (Query(some(rate("lockgate_requests_total", "outcome")), "{{outcome}}"),),
            "Each request ends in exactly one. held_back: a rate limit, for longer than the "
            "caller waits. rejected and "
            "denied: the caller has to change something.",
            unit="reqps",
            size=(12, 9),
            stack=True,
        ),
        Panel(
            "Requests by model",
            (Query(some(rate("lockgate_requests_total", "model")), "{{model}}"),),
            "By the configured name that was asked for; without one, no such model was named.",
            unit="reqps",
            size=(12, 9),
            stack=True,
        ),
        Panel(
            "Durations",
            (Query(rate(f"{_DURATION}_bucket", "le"), "{{le}}"),),
            "Every request by how long it took. Dots are examples: their trace or request id "
            "leads to the very request.",
            kind="heatmap",
            unit="s",
            size=(12, 9),
        ),
        Panel(
            "Duration",
            (
                Query(quantile(0.5, _DURATION), "p50"),
                Query(quantile(0.95, _DURATION), "p95"),
                Query(quantile(0.99, _DURATION), "p99"),
            ),
            "From a request's arrival to the end of its answer, holding and techniques included.",
            unit="s",
            size=(6, 9),
        ),
        Panel(
            "Time to the first content",
            (Query(quantile(0.95, _FIRST, _BY_MODEL), "{{gen_ai_request_model}}"),),
            "p95 by model. Of a technique the answer begins late: it is sent when it can no "
            "longer be replaced.",
            unit="s",
            size=(6, 9),
        ),
    ),
)

_PROVIDERS: Final = Row(
    "Providers and the gateway itself",
    (
        Panel(
            "Calls that failed, by how",
            (
                Query(
                    some(
                        rate(
                            "lockgate_upstream_attempts_total", "provider, outcome", 'outcome!="ok"'
                        )
                    ),
                    "{{provider}}: {{outcome}}",
                ),
            ),
            "Single calls to providers. Most are tried again or elsewhere, and no client sees "
            "them.",
            unit="reqps",
            stack=True,
        ),
        Panel(
            "Tried again",
            (Query(rate("lockgate_retries_total", "next, kind"), "{{kind}}, by another {{next}}"),),
            "Failed calls that were followed by another attempt, or by a fallback.",
            unit="reqps",
        ),
        Panel(
            "Answers that broke, clients that left",
            (
                Query(rate("lockgate_truncations_total"), "broke after they had begun"),
                Query(rate("lockgate_disconnects_total"), "client left"),
            ),
            "A broken answer ends in an error frame, never in a clean close.",
            unit="reqps",
        ),
        Panel(
            "Own time before a call goes out",
            (Query(quantile(0.99, "lockgate_overhead_seconds", "phase"), "{{phase}} (p99)"),),
            "What the gateway itself adds. Milliseconds here mean a machine that is too busy.",
            unit="s",
        ),
        Panel(
            "Tokens",
            (Query(rate("lockgate_tokens_total", "type"), "{{type}}"),),
            "Tokens a second. cache_read and reasoning are parts of input and output.",
            unit="short",
        ),
        Panel(
            "Time of a token",
            (
                Query(
                    mean("gen_ai_server_time_per_output_token_seconds", _BY_MODEL),
                    "{{gen_ai_request_model}}",
                ),
            ),
            "Of streamed plain answers: how long each token took after the first, on average.",
            unit="s",
        ),
        Panel(
            "Closing after a client has left",
            (Query(quantile(0.99, "lockgate_cancel_seconds"), "p99"),),
            "Until then the provider goes on writing, and billing.",
            unit="s",
            size=(12, 8),
        ),
        Panel(
            "Warnings",
            (Query(some(rate("lockgate_warnings_total", "code")), "{{code}}"),),
            "What callers were told beside their answers; the README lists the codes.",
            unit="reqps",
            size=(12, 8),
            stack=True,
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-overview",
    "Lockgate / Overview",
    "Is it well, who waits, what does it cost.",
    (_NOW, _REQUESTS, _PROVIDERS),
)
