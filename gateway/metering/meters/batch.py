"""A histogram that takes many values at the price of one, and remembers whose some of them were."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.samples import Exemplar

from gateway.clock import utc_now

Example: TypeAlias = tuple[float, Mapping[str, str]]
"""A value, and the labels by which what it was measured of is found."""


class BatchHistogram(Histogram):
    """Of each bucket, OpenMetrics shows the last of the examples that fell into it.

    Several processes that are summed up show none.
    """

    def observe_all(self, amounts: Sequence[float], examples: Sequence[Example] = ()) -> None:
        """Do as ``observe`` does for each of *amounts*, of which *examples* are some."""
        bounds = self._upper_bounds
        places = Tally(bisect_left(bounds, amount) for amount in amounts)
        for place, count in places.items():
            self._buckets[place].inc(count)
        self._sum.inc(sum(amounts))
        last = {bisect_left(bounds, amount): (amount, labels) for amount, labels in examples}
        for place, (amount, labels) in last.items():
            shown = Exemplar(dict(labels), amount, utc_now().timestamp())
            self._buckets[place].set_exemplar(shown)


MetricT = TypeVar("MetricT", Counter, Gauge, BatchHistogram)


class Batch:
    """What goes into several metrics, until it is taken in together."""

    __slots__ = ("_amounts", "_examples", "_sums")

    def __init__(self) -> None:
        self._sums: defaultdict[Counter | Gauge, float] = defaultdict(float)
        self._amounts: defaultdict[BatchHistogram, list[float]] = defaultdict(list)
        self._examples: defaultdict[BatchHistogram, list[Example]] = defaultdict(list)

    def count(self, child: Counter | Gauge, amount: float = 1) -> None:
        """Add *amount* to the count of *child*."""
        self._sums[child] += amount

    def add(
        self, child: BatchHistogram, amount: float, found_by: Mapping[str, str] | None = None
    ) -> None:
        """Add *amount* to *child*; *found_by* are the labels by which what it is of is found."""
        self._amounts[child].append(amount)
        if found_by is not None:
            self._examples[child].append((amount, found_by))

    def observe(self) -> None:
        """Have the metrics take in what was added."""
        for counted, amount in self._sums.items():
            counted.inc(amount)
        for child, amounts in self._amounts.items():
            child.observe_all(amounts, self._examples.get(child, ()))


def children() -> Any:
    """Return what gives the child of a metric that has these labels, and remembers it."""
    return lru_cache(4096)(_child)


def _child(metric: MetricT, *labels: str) -> MetricT:
    return metric.labels(*labels)
