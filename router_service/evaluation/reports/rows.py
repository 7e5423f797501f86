"""The cells of the tables that people read, the same on a terminal and in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from router_service.evaluation.comparing import Comparison
from router_service.evaluation.gate import SIGNIFICANT, Verdict
from router_service.evaluation.report import Report, Summary
from router_service.evaluation.samples import Metric
from router_service.evaluation.statistics.intervals import Estimate

SUMMARY: Final = (
    *("configuration", "quality [95 %]", "$ / 1000", "p50 s", "p95 s", "first s"),
    *("calls", "failed", "warned", "frontier"),
)
COMPARED: Final = (
    *("candidate", "metric", "baseline", "value", "difference [95 %]", "p adj."),
    *("test", "d_z", "+/=/-", "MDE"),
)
_DASH: Final = "-"
_MANY_TIMES: Final = 9.0
"""A share more than which is told as so many times as much."""


def summary_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each configuration."""
    for one in report.summaries:
        yield (
            one.name,
            _with_interval(one.means.get("quality"), "quality"),
            _plain(one.means.get("cost"), "cost"),
            *_seconds(one, "latency"),
            _seconds(one, "first_token")[0],
            _plain(one.means.get("calls"), "calls"),
            _plain(one.means.get("error_rate"), "error_rate"),
            _plain(one.means.get("degraded_rate"), "degraded_rate"),
            _on_frontier(report, one.name),
        )


def comparison_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each comparison."""
    for one in report.comparisons:
        name = one.metric.name
        known = "" if one.known == 1 else f" (of {one.known:.0%})"
        yield (
            one.candidate,
            name + known,
            number(one.baseline_mean, name),
            number(one.candidate_mean, name),
            _difference(one),
            p_value(one.adjusted_p),
            one.tested.test,
            _DASH if one.effect is None else f"{one.effect[0]:+.2f}",
            f"{one.wins.above}/{one.wins.level}/{one.wins.below}",
            _detectable(one),
        )


def direction(one: Comparison) -> int:
    """Return 1 if the candidate is better beyond chance, -1 if it is worse, else 0."""
    if one.adjusted_p >= SIGNIFICANT or not one.difference.mean:
        return 0
    return one.metric.sign if one.difference.mean > 0 else -one.metric.sign


def headline(report: Report) -> str:
    """Return what was done."""
    repeats = f", {report.repeats} times each" if report.repeats > 1 else ""
    modes = ", ".join(f"{mode} {count}" for mode, count in report.modes.items())
    judge = f", judge {report.judge}" if report.judge else ""
    some = "" if report.prompts == report.planned else f" of {report.planned}"
    return (
        f"{report.prompts}{some} prompts{repeats}, {len(report.summaries)} configurations; "
        f"graded by {modes} ({report.strategy}{judge})"
    )


def frontier_lines(report: Report) -> Iterator[str]:
    """Yield which configurations nothing beats, by each set of objectives."""
    for one in report.frontiers:
        members = ", ".join(f"{name} ({one.chances[name]:.0%})" for name in one.members)
        yield f"{' and '.join(one.objectives)}: nothing beats {members}"


def audit_lines(report: Report) -> Iterator[str]:
    """Yield what is known of the judge."""
    audit = report.audit
    if audit is None:
        return
    yield f"judge: {audit.judged} scores, {audit.unparsable:.1%} could not be read"
    if audit.noise is not None:
        yield f"noise of one score {audit.noise:.3f} ({audit.rescored} scored twice)"
    if audit.disagreement is not None:
        yield f"another preference when swapped: {audit.disagreement:.0%} of {audit.swapped} pairs"
    if audit.length_slope is not None:
        yield f"score by length of right answers: rank correlation {audit.length_slope:+.2f}"
    if audit.all_true is not None and audit.all_true > 0.5:
        yield f"it finds nothing wrong with {audit.all_true:.0%}"


def verdict_line(one: Verdict) -> str:
    """Return a verdict with n, the difference, its interval and what could be detected."""
    rule, gain = one.rule, one.evidence.gain
    name = rule.metric.name
    sign = rule.metric.sign
    told = f"{one.outcome.upper()} {one.candidate} on {name}: {one.why}"
    limit = f"allowed {_share(-sign * rule.margin, rule.metric)}, {rule.mode}"
    if gain is None or gain.interval is None:
        return f"{told} [{limit}]"
    ends = sorted((sign * gain.interval.low, sign * gain.interval.high))
    low, high = (_share(end, rule.metric, sign * gain.mean) for end in ends)
    least = one.evidence.detectable
    found = "" if least is None else f", MDE {_size(least, rule.metric)}"
    return (
        f"{told} [n = {gain.units}, difference {_share(sign * gain.mean, rule.metric)}, "
        f"95 % {low} to {high}{found}; {limit}]"
    )


def shown_verdicts(report: Report) -> Sequence[Verdict]:
    """Return the verdicts worth a line: guards only where something was seen."""
    return [one for one in report.verdicts if not one.rule.guard or one.outcome == "block"]


def number(value: float, metric: str) -> str:
    """Return *value* of a metric as people read it."""
    match metric:
        case "cost":
            return f"{1000 * value:.4g}"
        case "latency" | "first_token":
            return f"{value / 1000:.3g}"
        case "calls":
            return f"{value:.3g}"
        case "quality":
            return f"{value:.3f}"
        case _:
            return f"{value:.1%}"


def p_value(p: float) -> str:
    """Return *p*, never as if it were 0."""
    return f"{p:.3f}" if p >= 0.001 else f"{p:.0e}"


def _share(value: float, metric: Metric, scale: float | None = None) -> str:
    """Return a difference; one so large as *scale*, itself if None, may be is told in times."""
    value += 0.0  # of nothing, less than nothing is nothing too
    if metric.name == "quality":
        return f"{value:+.3f}"
    if metric.relative and (value if scale is None else scale) > _MANY_TIMES:
        return f"x{1 + value:.3g}"
    return f"{_percent(value, '+')} %"


def _percent(value: float, sign: str = "") -> str:
    digits = 1 if abs(value) < 0.0995 else 0
    return f"{100 * value:{sign}.{digits}f}"


def _difference(one: Comparison) -> str:
    told = one.change if one.metric.relative else one.difference
    if told is None:
        return number(one.difference.mean, one.metric.name)
    if told.interval is None:
        return _share(told.mean, one.metric)
    ends = (told.interval.low, told.interval.high)
    low, high = (_share(end, one.metric, told.mean) for end in ends)
    text = f"{_share(told.mean, one.metric)} [{low}, {high}]"
    return text.replace(" %", "") + " %" * (" %" in text)


def _detectable(one: Comparison) -> str:
    if one.detectable is None:
        return _DASH
    scale = one.baseline_mean if one.metric.relative else 1.0
    if scale <= 0:
        return _DASH
    return _size(one.detectable / scale, one.metric)


def _size(value: float, metric: Metric) -> str:
    """Return how large a difference is, whichever way it goes."""
    return f"{value:.3f}" if metric.name == "quality" else f"{_percent(value)} %"


def _plain(told: Estimate | None, metric: str) -> str:
    return _DASH if told is None else number(told.mean, metric)


def _with_interval(told: Estimate | None, metric: str) -> str:
    if told is None:
        return _DASH
    if told.interval is None:
        return number(told.mean, metric)
    low, high = (number(end, metric) for end in (told.interval.low, told.interval.high))
    return f"{number(told.mean, metric)} [{low}, {high}]"


def _seconds(one: Summary, metric: str) -> tuple[str, str]:
    found = one.quantiles.get(metric)
    return (_DASH, _DASH) if found is None else tuple_of(found, metric)


def tuple_of(found: tuple[float, float], metric: str) -> tuple[str, str]:
    """Return both quantiles as people read them."""
    return number(found[0], metric), number(found[1], metric)


def _on_frontier(report: Report, name: str) -> str:
    one = next((f for f in report.frontiers if f.objectives == ("quality", "cost")), None)
    if one is None:
        return _DASH
    return f"{'yes' if name in one.members else 'no'} ({one.chances[name]:.0%})"
