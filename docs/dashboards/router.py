"""Router: who chooses the technique, what is chosen, and what forecasts were worth."""

from __future__ import annotations

from typing import Final

from docs.dashboards.panels import Dashboard, Panel, Query, Row
from docs.dashboards.queries import mean, or_none, part, rate, some, within

_CHOSEN: Final = "lockgate_router_decisions_total"
_JUDGED: Final = "lockgate_forecast_runs_total"
_HALF: Final = (12, 9)

_CHOICE: Final = Row(
    "Who chooses",
    (
        Panel(
            "Who chose the technique",
            (Query(rate(_CHOSEN, "by"), "{{by}}"),),
            "default: nobody did. asked: the call. model_slug: the model's name in it. auto: the "
            "router.",
            unit="reqps",
            size=_HALF,
            stack=True,
        ),
        Panel(
            "What the router chose",
            (Query(rate(_CHOSEN, "technique", 'by="auto"'), "{{technique}}"),),
            "Of calls that left it to the router.",
            unit="reqps",
            size=_HALF,
            stack=True,
        ),
        Panel(
            "All choices",
            (Query(some(within(_CHOSEN, "technique")), "{{technique}}"),),
            "In the time that is looked at.",
            kind="piechart",
            size=(8, 9),
        ),
        Panel(
            "Went elsewhere",
            (
                Query(rate("lockgate_retries_total", "kind", 'next="model"'), "{{kind}}"),
                Query(
                    or_none(rate("lockgate_warnings_total", where='code="fallback"')),
                    "answered by a fallback",
                ),
            ),
            "Calls that moved to another account or a fallback, by why.",
            unit="reqps",
            size=(8, 9),
        ),
        Panel(
            "Masked",
            (
                Query(
                    or_none(
                        rate("lockgate_technique_downgrades_total", "technique", 'reason="masked"')
                    ),
                    "{{technique}}",
                ),
            ),
            "Techniques that were chosen for requests which have what they cannot keep.",
            unit="reqps",
            size=(8, 9),
        ),
    ),
)

_ROUTER: Final = Row(
    "The router",
    (
        Panel(
            "What it may not choose",
            (Query(rate("lockgate_router_masked_total", "reason"), "{{reason}}"),),
            "Techniques that were masked before the router was asked, by why.",
            unit="reqps",
            size=(8, 9),
            stack=True,
        ),
        Panel(
            "Tried out, and missed",
            (
                Query(
                    or_none(rate("lockgate_router_explored_total", "technique")), "{{technique}}"
                ),
                Query(rate("lockgate_router_fallbacks_total", "reason"), "no router: {{reason}}"),
            ),
            "Choices that were made to learn from them; and requests for which no router chose.",
            unit="reqps",
            size=(8, 9),
        ),
        Panel(
            "What asking it takes",
            (Query(mean("lockgate_router_seconds", "part"), "{{part}}"),),
            "The vector of a request's words, and all of it; on average.",
            unit="s",
            size=(8, 9),
        ),
    ),
)

_FORECAST: Final = Row(
    "Forecasts",
    (
        Panel(
            "Forecasts made",
            (Query(rate("lockgate_forecasts_total", "method"), "{{method}}"),),
            "Asked for by agents before a run of many steps.",
            unit="reqps",
        ),
        Panel(
            "Runs that kept below what was forecast",
            (
                Query(
                    part(
                        within(_JUDGED, "measure, quantile", 'below="true"'),
                        within(_JUDGED, "measure, quantile"),
                    ),
                    "{{measure}} {{quantile}}",
                ),
            ),
            "Of runs that were forecast and have ended: the bar of a quantile should reach just "
            "that part.",
            kind="bargauge",
            unit="percentunit",
            range=(0, 1),
        ),
        Panel(
            "How far off",
            (Query(mean("lockgate_forecast_pinball_loss", "measure"), "{{measure}}"),),
            "Pinball loss, as a part of what came; on average.",
            unit="percentunit",
        ),
    ),
)

PAGE: Final = Dashboard(
    "lockgate-router",
    "Lockgate / Router",
    "Who chooses the technique, what is chosen, where calls went instead, and what forecasts "
    "were worth.",
    (_CHOICE, _ROUTER, _FORECAST),
)
