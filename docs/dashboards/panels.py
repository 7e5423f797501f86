"""What a dashboard is made of, and how Grafana has it in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from docs.dashboards.looks import LOOKS, Kind
from techniques.core.json import Json, JsonObject

Colour: TypeAlias = Literal["green", "yellow", "orange", "red", "blue", "purple", "text"]
Steps: TypeAlias = tuple[tuple[float, Colour], ...]
"""From which value on which colour; what is below the first is green, or what comes at -inf."""

_SOURCE: Final[Mapping[str, Json]] = {"type": "prometheus", "uid": "${datasource}"}
_ACROSS: Final = 24
_LOWEST: Final = float("-inf")

SETTLED: Final[Mapping[str, Colour]] = {
    "success": "green",
    "ok": "green",
    "resumed": "green",
    "written": "green",
    "sent": "green",
    "client_disconnect": "blue",
    "rejected": "blue",
    "denied": "purple",
    "held_back": "yellow",
    "given_back": "yellow",
    "avoided": "green",
    "expected": "yellow",
    "unexpected": "red",
    "dropped": "red",
    "upstream_error": "orange",
    "truncated": "red",
    "internal_error": "red",
}
"""Words that have one colour on every panel."""


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and how what comes of it is called: ``{{label}}`` stands for a label."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot.

    ``about`` says what is seen, and what to do about it. ``size`` is columns of 24 by rows. With
    ``stack`` the parts of a whole stand on each other. ``range`` is that of the axis.
    """

    title: str
    queries: tuple[Query, ...]
    about: str
    kind: Kind = "timeseries"
    unit: str = "short"
    size: tuple[int, int] = (8, 8)
    stack: bool = False
    steps: Steps = ()
    range: tuple[float | None, float | None] = (0, None)


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading, side by side as far as they fit."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page. ``uid`` is its name in addresses, for ever."""

    uid: str
    title: str
    about: str
    rows: tuple[Row, ...]

    def panels(self) -> Iterator[Panel]:
        """Yield all plots."""
        for row in self.rows:
            yield from row.panels

    def json(self) -> JsonObject:
        """Return the page as Grafana provisions it."""
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["lockgate"],
            "schemaVersion": 39,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,
            "refresh": "10s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "",
            "links": [_LINKS],
            "templating": {"list": [_DATASOURCE, _INSTANCE]},
            "annotations": {"list": []},
            "panels": list(_laid_out(self.rows)),
        }


_LINKS: Final[Mapping[str, Json]] = {
    "type": "dashboards",
    "title": "Lockgate",
    "tags": ["lockgate"],
    "icon": "external link",
    "tooltip": "The other dashboards of Lockgate",
    "asDropdown": False,
    "targetBlank": False,
    "includeVars": True,
    "keepTime": True,
}
_DATASOURCE: Final[Mapping[str, Json]] = {
    "name": "datasource",
    "label": "Prometheus",
    "type": "datasource",
    "query": "prometheus",
    "refresh": 1,
}
_INSTANCE: Final[Mapping[str, Json]] = {
    "name": "instance",
    "label": "Replica",
    "type": "query",
    "datasource": _SOURCE,
    "query": {
        "query": "label_values(lockgate_requests_in_flight, instance)",
        "refId": "instance",
    },
    "refresh": 2,
    "includeAll": True,
    "allValue": ".*",
    "multi": True,
    "sort": 1,
    "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
}


def _laid_out(rows: Sequence[Row]) -> Iterator[JsonObject]:
    """Yield headings and panels, each in its place: left to right, then below."""
    number, top = 1, 0
    for row in rows:
        place = {"x": 0, "y": top, "w": _ACROSS, "h": 1}
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": place,
            "panels": [],
        }
        number, top, left, tallest = number + 1, top + 1, 0, 0
        for panel in row.panels:
            width, height = panel.size
            if left + width > _ACROSS:
                left, top, tallest = 0, top + tallest, 0
            place = {"x": left, "y": top, "w": width, "h": height}
            yield _panel(panel, number, place)
            number, left, tallest = number + 1, left + width, max(tallest, height)
        top += tallest


def _panel(panel: Panel, number: int, place: Mapping[str, Json]) -> JsonObject:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [_target(panel, at, query) for at, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": list(_colours(panel))},
        "options": LOOKS[panel.kind],
    }


def _target(panel: Panel, at: int, query: Query) -> JsonObject:
    now = panel.kind in {"bargauge", "piechart"}
    return {
        "refId": "ABCDEFGH"[at],
        "datasource": _SOURCE,
        "editorMode": "code",
        "expr": query.expr,
        "legendFormat": query.legend or "__auto",
        "format": "heatmap" if panel.kind == "heatmap" else "time_series",
        "instant": now,
        "range": not now,
        "exemplar": panel.kind == "heatmap",
    }


def _defaults(panel: Panel) -> JsonObject:
    least, most = panel.range
    steps: list[tuple[float, str]] = list(panel.steps)
    if not steps or steps[0][0] != _LOWEST:
        steps.insert(0, (_LOWEST, "green"))
    told: JsonObject = {
        "unit": panel.unit,
        "color": {"mode": "thresholds" if panel.steps else "palette-classic"},
        "thresholds": {
            "mode": "absolute",
            "steps": [
                {"value": None if value == _LOWEST else value, "color": colour}
                for value, colour in steps
            ],
        },
    }
    if panel.kind == "timeseries":
        told |= {"color": {"mode": "palette-classic"}, "custom": _custom(panel)}
    bounds = {"min": least, "max": most}
    return told | {name: bound for name, bound in bounds.items() if bound is not None}


def _custom(panel: Panel) -> JsonObject:
    return {
        "drawStyle": "line",
        "lineWidth": 1 if panel.stack else 2,
        "fillOpacity": 40 if panel.stack else 8,
        "showPoints": "never",
        "spanNulls": True,
        "stacking": {"mode": "normal" if panel.stack else "none", "group": "A"},
        "thresholdsStyle": {"mode": "dashed" if panel.steps else "off"},
    }


def _colours(panel: Panel) -> Iterator[JsonObject]:
    """Yield the colours of the words that the panel's series may be called."""
    legends = {query.legend for query in panel.queries}
    for word, colour in SETTLED.items():
        if not legends & {word, "{{outcome}}", "{{result}}"}:
            continue
        yield {
            "matcher": {"id": "byName", "options": word},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}],
        }
