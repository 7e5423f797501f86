"""Queries of Prometheus's, as the dashboards put them."""

from __future__ import annotations

from typing import Final

WINDOW: Final = "$__rate_interval"
RANGE: Final = "$__range"
REPLICA: Final = 'instance=~"$instance"'


def of(name: str, where: str = "") -> str:
    """Return the series *name* of the replicas that are looked at, narrowed by *where*."""
    narrowed = f"{REPLICA},{where}" if where else REPLICA
    return f"{name}{{{narrowed}}}"


def total(name: str, by: str = "", where: str = "") -> str:
    """Return the sum of the gauge *name*, by the labels *by*."""
    return f"sum{_by(by)} ({of(name, where)})"


def most(name: str, by: str = "", where: str = "") -> str:
    """Return the largest of a gauge that all replicas show alike."""
    return f"max{_by(by)} ({of(name, where)})"


def least(name: str, by: str = "", where: str = "") -> str:
    """Return the smallest of a gauge that all replicas show alike."""
    return f"min{_by(by)} ({of(name, where)})"


def rate(name: str, by: str = "", where: str = "") -> str:
    """Return how often a second the counter *name* goes up."""
    return f"sum{_by(by)} (rate({of(name, where)}[{WINDOW}]))"


def hourly(name: str, by: str = "", where: str = "") -> str:
    """Return by how much an hour the counter *name* goes up."""
    return f"3600 * {rate(name, by, where)}"


def within(name: str, by: str = "", where: str = "") -> str:
    """Return by how much the counter *name* went up in the time that is looked at."""
    return f"sum{_by(by)} (increase({of(name, where)}[{RANGE}]))"


def most_within(name: str, by: str = "", where: str = "") -> str:
    """Return by how much a count that all replicas show alike went up in the time looked at."""
    return f"max{_by(by)} (increase({of(name, where)}[{RANGE}]))"


def quantile(part: float, name: str, by: str = "", where: str = "") -> str:
    """Return a quantile of the histogram *name*."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({part:g}, {rate(f'{name}_bucket', labels, where)})"


def quantile_within(part: float, name: str, by: str = "", where: str = "") -> str:
    """Return a quantile of what the histogram *name* took in during the time that is looked at."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({part:g}, {within(f'{name}_bucket', labels, where)})"


def mean_within(name: str, by: str = "", where: str = "") -> str:
    """Return the mean of what the histogram *name* took in during the time that is looked at."""
    return f"{within(f'{name}_sum', by, where)} / {within(f'{name}_count', by, where)}"


def mean(name: str, by: str = "", where: str = "") -> str:
    """Return the mean of the histogram *name*."""
    return f"{rate(f'{name}_sum', by, where)} / {rate(f'{name}_count', by, where)}"


def _by(labels: str) -> str:
    return f" by ({labels})" if labels else ""


def some(expr: str) -> str:
    """Return what of *expr* is more than nothing: a panel does not list what does not happen."""
    return f"{expr} > 0"


def or_none(expr: str) -> str:
    """Return *expr*, or 0 where nothing of it has happened yet."""
    return f"{expr} or on () vector(0)"


def part(of_it: str, whole: str) -> str:
    """Return which part of *whole* is *of_it*."""
    return f"{of_it} / {whole}"


def all_of(expr: str) -> str:
    """Return the sum of all that *expr* gives."""
    return f"sum ({expr})"
