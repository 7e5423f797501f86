"""Techniques: how often, how dear, how sure, and what was paid for nothing."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import (
    hourly,
    mean_within,
    part,
    quantile_within,
    rate,
    some,
    within,
)

_MULTIPLE: Final = "lockgate_technique_cost_multiple"
_AGREEMENT: Final = "lockgate_technique_agreement"

_RUNS: Final = Row(
    "Runs",
    (
        Panel(
            "Runs",
            (Query(some(rate("lockgate_technique_runs_total", "technique")), "{{technique}}"),),
            "Requests that a technique answered, a second.",
            unit="reqps",
            size=(12, 9),
            stack=True,
        ),
        Panel(
            "How runs end",
            (Query(some(rate("lockgate_technique_runs_total", "outcome")), "{{outcome}}"),),
            "Most failures of a technique are followed by a plain call, and end in success: see "
            "Downgrades.",
            unit="reqps",
            size=(6, 9),
            stack=True,
        ),
        Panel(
            "Downgrades",
            (
                Query(
                    some(rate("lockgate_technique_downgrades_total", "technique, reason")),
                    "{{technique}}: {{reason}}",
                ),
            ),
            "masked: the request has what the technique cannot keep. failed: a plain call "
            "answered. replaced: another "
            "technique did. cap, deadline: it ended early.",
            unit="reqps",
            size=(6, 9),
            stack=True,
        ),
        Panel(
            "Calls a run",
            (Query(mean_within("lockgate_technique_calls", "technique"), "{{technique}}"),),
            "Upstream calls of one run, on average.",
            kind="bargauge",
            size=(8, 10),
        ),
        Panel(
            "Slow runs (p95)",
            (
                Query(
                    quantile_within(
                        0.95,
                        "gen_ai_server_request_duration_seconds",
                        "technique",
                        'technique!="none"',
                    ),
                    "{{technique}}",
                ),
            ),
            "Nineteen of twenty runs end sooner.",
            kind="bargauge",
            unit="s",
            size=(8, 10),
        ),
        Panel(
            "Agreement of the draws",
            (Query(mean_within(_AGREEMENT, "technique"), "{{technique}}"),),
            "The part of the votes that the answer had, on average. Near 1 a vote is money for "
            "nothing; below a half it "
            "is a guess.",
            kind="bargauge",
            unit="percentunit",
            size=(8, 10),
            steps=((float("-inf"), "orange"), (0.5, "yellow"), (0.7, "green"), (0.97, "blue")),
            range=(0, 1),
        ),
    ),
)

_COST: Final = Row(
    "What they cost",
    (
        Panel(
            "Cost beside a plain call",
            (Query(mean_within(_MULTIPLE, "technique"), "{{technique}}"),),
            "All that a run cost, by the cost of the call that was sent first; on average.",
            kind="bargauge",
            unit="none",
            size=(8, 10),
            steps=((0, "green"), (5, "yellow"), (10, "orange")),
        ),
        Panel(
            "Spent by technique",
            (
                Query(
                    some(within("lockgate_technique_cost_usd_total", "technique")),
                    "{{technique}}",
                ),
            ),
            "US dollars in the time that is looked at; none is a plain call.",
            kind="piechart",
            unit="currencyUSD",
            size=(8, 10),
        ),
        Panel(
            "Spent by the part a call plays",
            (
                Query(
                    some(within("lockgate_technique_cost_usd_total", "role", 'technique!="none"')),
                    "{{role}}",
                ),
            ),
            "Under techniques: what drafts, judges, critics and syntheses cost.",
            kind="piechart",
            unit="currencyUSD",
            size=(8, 10),
        ),
        Panel(
            "Paid for nothing, an hour",
            (
                Query(
                    some(hourly("lockgate_waste_usd_total", "technique, reason")),
                    "{{technique}}: {{reason}}",
                ),
            ),
            "US dollars for calls that were cut off (a race was decided, a client left) or failed.",
            unit="currencyUSD",
            size=(12, 9),
            stack=True,
        ),
        Panel(
            "Part of the money that bought nothing",
            (
                Query(
                    part(
                        rate("lockgate_waste_usd_total", "technique"),
                        rate("lockgate_technique_cost_usd_total", "technique"),
                    ),
                    "{{technique}}",
                ),
            ),
            "By technique.",
            unit="percentunit",
            size=(12, 9),
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-techniques",
    "Lockgate / Techniques",
    "How often techniques run, what they cost, how far draws agree, and what was paid for nothing.",
    (_RUNS, _COST),
)
