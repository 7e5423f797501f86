"""How each kind of panel looks: Grafana's own options, all that its schema asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from techniques.core.json import Json, JsonObject

Kind: TypeAlias = Literal["timeseries", "stat", "bargauge", "piechart", "heatmap"]

_LAST: Final[Mapping[str, Json]] = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_LIST: Final[Mapping[str, Json]] = {
    "displayMode": "list",
    "placement": "bottom",
    "showLegend": True,
    "calcs": [],
}
LOOKS: Final[Mapping[Kind, JsonObject]] = {
    "timeseries": {"legend": _LIST, "tooltip": {"mode": "multi", "sort": "desc"}},
    "stat": {
        "reduceOptions": _LAST,
        "graphMode": "area",
        "colorMode": "value",
        "textMode": "auto",
        "justifyMode": "auto",
        "orientation": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
    },
    "bargauge": {
        "reduceOptions": _LAST,
        "orientation": "horizontal",
        "displayMode": "gradient",
        "valueMode": "color",
        "namePlacement": "auto",
        "sizing": "auto",
        "minVizWidth": 8,
        "minVizHeight": 16,
        "maxVizHeight": 300,
        "showUnfilled": True,
        "legend": {**_LIST, "showLegend": False},
    },
    "piechart": {
        "reduceOptions": _LAST,
        "pieType": "donut",
        "orientation": "auto",
        "sort": "desc",
        "displayLabels": [],
        "legend": {
            **_LIST,
            "displayMode": "table",
            "placement": "right",
            "values": ["value", "percent"],
        },
        "tooltip": {"mode": "single", "sort": "none"},
    },
    "heatmap": {
        "calculate": False,
        "cellGap": 1,
        "color": {
            "mode": "scheme",
            "scheme": "Turbo",
            "steps": 64,
            "exponent": 0.5,
            "fill": "dark-blue",
            "reverse": False,
        },
        "yAxis": {"unit": "s"},
        "legend": {"show": True},
        "showValue": "never",
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "tooltip": {"mode": "single", "yHistogram": True},
    },
}
