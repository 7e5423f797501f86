"""Cost against quality, with intervals and the frontier: the one place that imports matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from router_service.evaluation.report import Report, Summary
from router_service.evaluation.statistics.intervals import Estimate

_ON: Final = "#0b6e4f"
_OFF: Final = "#8a8f98"
_INK: Final = "#24292f"
_FAR_APART: Final = 20
"""Times as dear: from there on the axis is logarithmic."""


def draw(report: Report, path: Path) -> bool:
    """Draw *report* into *path* (SVG or PNG, by its name); tell whether there was anything to draw.

    A configuration whose cost is not known has no place on the plot.
    """
    points = [one for one in report.summaries if {"cost", "quality"} <= set(one.means)]
    if not points:
        return False
    with mpl.rc_context({"svg.hashsalt": "lockgate", "font.size": 10}):
        figure = Figure(figsize=(7.2, 4.6), layout="constrained")
        axes = figure.add_subplot()
        on = next((f.members for f in report.frontiers if f.objectives == ("quality", "cost")), ())
        _line(axes, [one for one in points if one.name in on])
        for one in points:
            _point(axes, one, _ON if one.name in on else _OFF)
        _frame(axes, report, points)
        figure.savefig(path, dpi=144, metadata={"Date": None} if path.suffix == ".svg" else None)
    return True


def _point(axes: Axes, one: Summary, colour: str) -> None:
    x, left, right = _scaled(one.means["cost"], 1000)
    y, below, above = _scaled(one.means["quality"], 1)
    axes.errorbar(
        [x],
        [y],
        xerr=[[left], [right]],
        yerr=[[below], [above]],
        fmt="o",
        color=colour,
        capsize=3,
        linewidth=1.2,
        zorder=3,
    )
    axes.annotate(
        one.name,
        (x, y),
        (7, 7),
        textcoords="offset points",
        color=_INK,
        zorder=4,
        annotation_clip=False,
    )


def _scaled(told: Estimate, factor: float) -> tuple[float, float, float]:
    """Return the mean, and how far the interval goes below and above it."""
    mean = factor * told.mean
    if told.interval is None:
        return mean, 0.0, 0.0
    low, high = factor * told.interval.low, factor * told.interval.high
    return mean, max(mean - low, 0.0), max(high - mean, 0.0)


def _line(axes: Axes, members: list[Summary]) -> None:
    """Draw the frontier as steps: what the least cost is for each quality."""
    spots = sorted((1000 * one.means["cost"].mean, one.means["quality"].mean) for one in members)
    if len(spots) > 1:
        xs, ys = zip(*spots, strict=True)
        axes.step(xs, ys, where="post", color=_ON, alpha=0.45, linewidth=1.5, zorder=1)


def _frame(axes: Axes, report: Report, points: list[Summary]) -> None:
    costs = [one.means["cost"].mean for one in points]
    if min(costs) > 0 and max(costs) > _FAR_APART * min(costs):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("dollars per 1,000 answers")
    axes.set_ylabel("quality")
    missing = len(report.summaries) - len(points)
    unknown = f"; {missing} of unknown cost not shown" if missing else ""
    axes.set_title(
        f"{report.prompts} prompts, bars are 95 % intervals, green is the frontier{unknown}",
        fontsize=10,
        color=_INK,
        loc="left",
    )
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.margins(0.14)
    axes.spines[["top", "right"]].set_visible(False)
