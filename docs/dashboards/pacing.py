"""Pacing: who waits and why, what was avoided, and whether enough is held."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import least, mean, most, or_none, quantile, rate, some, within

_HIT: Final = "lockgate_upstream_429_total"
_COVERAGE: Final = (
    f"1 - {rate('lockgate_need_misses_total', 'model')} "
    f"/ ({rate('lockgate_need_ratio_count', 'model')} > 0)"
)

_WAITING: Final = Row(
    "Who waits",
    (
        Panel(
            "Waiting",
            (Query(most("lockgate_queue_depth", "provider"), "{{provider}}"),),
            "Calls that stand in line for an account. They go as its windows refill.",
            size=(8, 8),
        ),
        Panel(
            "Pauses, by why and how they end",
            (
                Query(
                    some(rate("lockgate_pauses_total", "reason, outcome")),
                    "{{reason}}: {{outcome}}",
                ),
            ),
            "resumed: it went on. given_back: it could not wait so long. left: nobody wanted it "
            "any more.",
            unit="reqps",
            stack=True,
        ),
        Panel(
            "How long calls are held",
            (
                Query(quantile(0.5, "lockgate_pause_seconds", "provider"), "{{provider}} p50"),
                Query(quantile(0.95, "lockgate_pause_seconds", "provider"), "{{provider}} p95"),
            ),
            "By account.",
            unit="s",
        ),
        Panel(
            "What is left of each window",
            (
                Query(
                    least("lockgate_window_remaining_ratio", "provider, model, dimension, period"),
                    "{{provider}} {{model}} {{dimension}}/{{period}}s",
                ),
            ),
            "A window at nothing lets nothing through until it refills. Only windows that are "
            "known: stated, told by "
            "answers, or learned from a 429.",
            unit="percentunit",
            size=(24, 9),
            range=(0, 1),
        ),
    ),
)

_REFUSED: Final = Row(
    "What was avoided, and what was not",
    (
        Panel(
            "Refusals",
            (
                Query(rate("lockgate_429_avoided_total"), "avoided"),
                Query(rate(_HIT, where='expected="true"'), "expected"),
                Query(rate(_HIT, where='expected="false"'), "unexpected"),
            ),
            "avoided: it would have been refused, had it been sent when it came. expected: no "
            "limit was known yet. "
            "unexpected: the ledger had room, and the provider refused; somebody else may use "
            "the account.",
            unit="reqps",
            size=(12, 9),
        ),
        Panel(
            "Of all that would have been refused",
            (
                Query(within("lockgate_429_avoided_total"), "avoided"),
                Query(within(_HIT, where='expected="true"'), "expected"),
                Query(within(_HIT, where='expected="false"'), "unexpected"),
            ),
            "In the time that is looked at.",
            kind="piechart",
            size=(6, 9),
        ),
        Panel(
            "Went on",
            (
                Query(rate("lockgate_resumes_total"), "held calls"),
                Query(rate("lockgate_suspensions_total"), "runs put away"),
                Query(rate("lockgate_run_resumes_total", "cause"), "runs resumed, by {{cause}}"),
            ),
            "Held calls go on by themselves; a run that was put away goes on when it is asked "
            "for again.",
            unit="reqps",
            size=(6, 9),
        ),
    ),
)

_HELD: Final = Row(
    "Whether enough is held",
    (
        Panel(
            "Need covered",
            (Query(_COVERAGE, "{{model}}"),),
            "The part of calls that wrote no more than was held for them. 95 % is what is aimed "
            "at; far below it limits "
            "are overrun, far above it calls wait for nothing.",
            unit="percentunit",
            steps=((float("-inf"), "red"), (0.95, "green")),
            range=(0, 1),
        ),
        Panel(
            "Held for each token used",
            (Query(mean("lockgate_need_ratio", "model"), "{{model}}"),),
            "On average; 1 would be to know each answer's length beforehand.",
            unit="none",
        ),
        Panel(
            "Leases",
            (Query(most("lockgate_leases", "provider"), "{{provider}}"),),
            "Calls that hold something of an account until they have ended.",
        ),
        Panel(
            "Runs that are put away",
            (
                Query(most("lockgate_runs_suspended"), "put away"),
                Query(most("lockgate_runs_overdue"), "overdue"),
            ),
            "Overdue: they could have gone on a quarter of an hour ago, and nobody asks for them. "
            "Not told where the journal is in Redis.",
            size=(8, 7),
        ),
        Panel(
            "Headers about limits that could not be read",
            (
                Query(
                    or_none(some(rate("lockgate_header_unparsed_total", "provider, header"))),
                    "{{provider}} {{header}}",
                ),
            ),
            "By known names of headers. A provider may have changed what it says.",
            unit="reqps",
            size=(8, 7),
        ),
        Panel(
            "Sub-calls that were not paid twice",
            (
                Query(rate("lockgate_steps_replayed_total"), "replayed"),
                Query(rate("lockgate_steps_ambiguous_total"), "doubtful"),
            ),
            "A run that goes on answers what is settled from its journal. Doubtful: sent by a "
            "replica that is gone.",
            unit="reqps",
            size=(8, 7),
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-pacing",
    "Lockgate / Pacing",
    "Who waits and why, which refusals were avoided, and whether enough is held for each call.",
    (_WAITING, _REFUSED, _HELD),
)
