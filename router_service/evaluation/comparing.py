"""Compares candidates with the baseline on the same prompts, and says how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from router_service.evaluation.gate import Evidence, Rule, Verdict, verdict
from router_service.evaluation.samples import METRICS, Metric, Table
from router_service.evaluation.statistics.distributions import Alternative, Numbers
from router_service.evaluation.statistics.intervals import (
    FEW,
    Estimate,
    by_t,
    estimate,
    standard_error,
    unvaried,
)
from router_service.evaluation.statistics.paired import (
    Tested,
    Wins,
    adjusted,
    compared,
    detectable,
    effect,
    shift,
    wins,
)
from router_service.evaluation.statistics.resampling import (
    Clustered,
    Interval,
    bca,
    clustered,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of a candidate beside the baseline's.

    ``difference`` is candidate less baseline, ``change`` the same as a share of the baseline's
    (only where that is how the metric is told), ``adjusted_p`` that of ``tested`` among all that
    are reported. ``within`` is the share of the spread that repeats alone make.
    """

    metric: Metric
    candidate: str
    prompts: int
    known: float
    baseline_mean: float
    candidate_mean: float
    difference: Estimate
    change: Estimate | None
    tested: Tested
    adjusted_p: float
    shift: float
    effect: tuple[float, Interval] | None
    wins: Wins
    detectable: float | None
    within: float | None

    @property
    def gain(self) -> Estimate:
        """The difference as a gain, below 0 where the candidate is worse."""
        told = self.change if self.change is not None else self.difference
        return told if self.metric.higher_is_better else turned(told)


@dataclass(frozen=True, slots=True)
class _Paired:
    """Differences of prompts of which both sides are known."""

    metric: Metric
    base: Numbers
    other: Numbers
    units: Clustered
    known: float
    binary: bool

    @property
    def apart(self) -> Numbers:
        """The difference of each unit: of each cluster, where there are some."""
        return self.units.means()[:, 0]

    def tested(self, alternative: Alternative, seed: int) -> Tested:
        return compared(self.apart, alternative, binary=self.binary, seed=seed)


def comparisons(
    table: Table, rules: Sequence[Rule], seed: int
) -> tuple[list[Comparison], list[Verdict]]:
    """Return every comparison with the first configuration of *table*, and what *rules* make of it.

    All tests that are reported, those of the rules too, are adjusted together.
    """
    found, harms = [], []
    for candidate in table.configs[1:]:
        for metric in METRICS.values():
            if (paired := _paired(table, metric, candidate)) is not None:
                found.append(_compared(table, candidate, paired, seed))
        for rule in rules:
            harms.append((candidate, rule, _harm(table, rule, candidate, seed)))
    asked = [harm.p for _, _, harm in harms if harm is not None]
    fixed = adjusted([*(one.tested.p for one in found), *asked])
    told = [replace(one, adjusted_p=p) for one, p in zip(found, fixed, strict=False)]
    rest = iter(fixed[len(found) :])
    verdicts = []
    for candidate, rule, harm in harms:
        p = None if harm is None else next(rest)
        verdicts.append(verdict(candidate, rule, _evidence(table, told, (candidate, rule), p)))
    return told, verdicts


def turned(told: Estimate) -> Estimate:
    """Return *told* with its sign turned."""
    return Estimate(
        -told.mean,
        told.units,
        None if told.interval is None else _turned(told.interval),
        tuple(map(_turned, told.others)),
    )


def _turned(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low, interval.method)


def _paired(table: Table, metric: Metric, candidate: str) -> _Paired | None:
    """Return the pairs of values; None where there are none, or, but of quality, none differs."""
    values = table.values[metric.name]
    base, other = values[table.configs[0]], values[candidate]
    both = ~(np.isnan(base) | np.isnan(other))
    level = metric.name != "quality" and np.array_equal(base[both], other[both])
    if not both.any() or level:
        return None
    clusters = table.clusters[both]
    pair = base[both], other[both]
    binary = bool(np.isin(pair, (0, 1)).all()) and len(np.unique(clusters)) == len(clusters)
    units = clustered(np.stack([pair[1] - pair[0], pair[0]], axis=1), clusters)
    return _Paired(metric, *pair, units, float(both.mean()), binary)


def _harm(table: Table, rule: Rule, candidate: str, seed: int) -> Tested | None:
    """Test whether the candidate is worse: the hypothesis is that it is not."""
    paired = _paired(table, rule.metric, candidate)
    if paired is None:
        return None
    return paired.tested("less" if rule.metric.higher_is_better else "greater", seed)


def _compared(table: Table, candidate: str, paired: _Paired, seed: int) -> Comparison:
    units, metric, apart = paired.units, paired.metric, paired.apart
    several = units.size > 1
    return Comparison(
        metric=metric,
        candidate=candidate,
        prompts=len(paired.base),
        known=paired.known,
        baseline_mean=float(paired.base.mean()),
        candidate_mean=float(paired.other.mean()),
        difference=_difference(metric, units, seed),
        change=_change(units, seed) if metric.relative else None,
        tested=paired.tested("two-sided", seed),
        adjusted_p=1.0,
        shift=shift(apart, seed),
        effect=effect(apart),
        wins=wins(metric.sign * apart),
        detectable=detectable(standard_error(units), units.size) if several else None,
        within=_within(table, metric, candidate, paired) if several else None,
    )


def _difference(metric: Metric, units: Clustered, seed: int) -> Estimate:
    found = estimate(units, seed)
    if not metric.bounded or np.ptp(units.means()[:, 0]) > 0:
        return found
    return Estimate(found.mean, found.units, unvaried(found.mean, found.units))


def _change(units: Clustered, seed: int) -> Estimate | None:
    """Return the difference as a share of the baseline; None where that has nothing."""
    base = float(units.sums[:, 1].sum())
    if base <= 0:
        return None
    ratio = float(units.sums[:, 0].sum()) / base
    found = [bca(units, _share, seed)]
    if units.size < FEW and (closed := by_t(units)) is not None:
        size = base / float(units.counts.sum())
        found.insert(0, Interval(closed.low / size, closed.high / size, "t"))
    told = [one for one in found if one is not None]
    return Estimate(ratio, units.size, told[0] if told else None, tuple(told[1:]))


def _share(sums: Numbers, counts: Numbers) -> Numbers:
    del counts
    shares: Numbers = sums[..., 0] / np.maximum(sums[..., 1], 1e-300)
    return shares


def _within(table: Table, metric: Metric, candidate: str, paired: _Paired) -> float | None:
    """Return which share of the spread of differences is that of repeats of the same prompt."""
    rows = [table.within[metric.name][name] for name in (table.configs[0], candidate)]
    known = [row[~np.isnan(row)] for row in rows]
    spread = float(np.var(paired.other - paired.base, ddof=1))
    if not all(map(len, known)) or spread <= 0:
        return None
    repeats = len(table.pairs[candidate]) / max(len(table.prompts), 1)
    return min(1.0, sum(float(row.mean()) for row in known) / repeats / spread)


def _evidence(
    table: Table, told: Sequence[Comparison], asked: tuple[str, Rule], harm_p: float | None
) -> Evidence:
    candidate, rule = asked
    base = table.pairs[table.configs[0]]
    if base and all(pair.answer.error for pair in base):
        return Evidence(None, None, invalid="the baseline never answered")
    found = next(_of(told, candidate, rule.metric), None)
    if found is None:
        return _nothing(table, rule.metric, candidate)
    if rule.metric.relative and found.change is None:
        return Evidence(None, None, invalid="the baseline has nothing to be a share of")
    scale = found.baseline_mean if rule.metric.relative else 1.0
    least = None if found.detectable is None else found.detectable / scale
    return Evidence(found.gain, harm_p, found.known, least)


def _of(told: Sequence[Comparison], candidate: str, metric: Metric) -> Iterator[Comparison]:
    return (one for one in told if one.candidate == candidate and one.metric is metric)


def _nothing(table: Table, metric: Metric, candidate: str) -> Evidence:
    """Return what is known where nothing was compared: that none differs, or nothing at all."""
    rows = [table.values[metric.name][name] for name in (table.configs[0], candidate)]
    known = np.array([~np.isnan(row) for row in rows]).all(0)
    if not known.any():
        return Evidence(None, None, invalid="it is not known")
    units = len(np.unique(table.clusters[known]))
    level = unvaried(0.0, units)
    if level is not None and not metric.bounded:
        level = Interval(0.0, 0.0, "none differs")
    return Evidence(Estimate(0.0, units, level), 1.0, float(known.mean()))
