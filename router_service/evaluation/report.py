"""All that an evaluation found, as values; how it is shown is for ``reports``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from router_service.evaluation.auditing import Audit, audited
from router_service.evaluation.comparing import Comparison, comparisons
from router_service.evaluation.configurations import Configuration
from router_service.evaluation.gate import Rule, Verdict, exit_code
from router_service.evaluation.records import Records
from router_service.evaluation.running import Plan, left
from router_service.evaluation.samples import METRICS, Pair, Table, table_of
from router_service.evaluation.statistics.distributions import Numbers
from router_service.evaluation.statistics.frontier import chances, frontier
from router_service.evaluation.statistics.intervals import FEW, Estimate, estimate
from router_service.evaluation.statistics.resampling import clustered

_OBJECTIVES: Final = ("quality", "cost", "latency")
_SETS: Final = (*[(a, b) for a, b in (("quality", "cost"), ("quality", "latency"))], _OBJECTIVES)
_MOST_MESSAGES: Final = 3


@dataclass(frozen=True, slots=True)
class Summary:
    """One configuration by itself. ``means`` are by metric; what is not known is not there.

    ``quantiles`` are p50 and p95 in milliseconds, of ``latency`` and ``first_token``.
    """

    name: str
    stated: Configuration
    means: Mapping[str, Estimate]
    quantiles: Mapping[str, tuple[float, float]]
    answers: int
    cost_unknown: int
    cost_sources: Mapping[str, int]
    cost_tiers: Mapping[str, int]
    errors: Mapping[str, int]
    warnings: Mapping[str, int]
    by_category: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Frontier:
    """Which configurations nothing beats in ``objectives``, and how sure that is, by name."""

    objectives: tuple[str, ...]
    members: tuple[str, ...]
    chances: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. The first of ``summaries`` is the baseline."""

    prompts: int
    planned: int
    repeats: int
    seed: int
    clusters: int
    modes: Mapping[str, int]
    strategy: str
    judge: str
    summaries: Sequence[Summary]
    comparisons: Sequence[Comparison]
    frontiers: Sequence[Frontier]
    audit: Audit | None
    verdicts: Sequence[Verdict]
    missing: int
    notes: Sequence[str]

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        asked = [one for one in self.verdicts if not one.rule.guard]
        return exit_code(self.verdicts, complete=not self.missing) if asked else 0


def report(plan: Plan, records: Records, rules: Sequence[Rule], notes: Sequence[str]) -> Report:
    """Return what *records* tell of what was planned, judged by *rules*."""
    table = table_of(plan, records)
    found, verdicts = comparisons(table, rules, plan.seed) if table.prompts else ([], [])
    missing = len(left(plan, records))
    audit = audited(plan, table, records)
    told = _Told(plan, table, found, audit, missing)
    judge = plan.grader.shown if any(q.rules.scoring.judges for q in plan.questions) else ""
    return Report(
        prompts=len(table.prompts),
        planned=len(plan.questions),
        repeats=plan.repeats,
        seed=plan.seed,
        clusters=len(np.unique(table.clusters)),
        modes=Counter(question.rules.name for question in plan.questions),
        strategy=plan.grader.strategy,
        judge=judge,
        summaries=[_summary(table, one.configuration, plan.seed) for one in plan.contestants],
        comparisons=found,
        frontiers=list(_frontiers(table, plan.seed)),
        audit=audit,
        verdicts=verdicts,
        missing=missing,
        notes=[*notes, *told.notes()],
    )


def _summary(table: Table, stated: Configuration, seed: int) -> Summary:
    pairs = table.pairs[stated.name]
    means = {}
    for metric in METRICS:
        values = table.values[metric][stated.name]
        known = ~np.isnan(values)
        if known.any():
            bounded = METRICS[metric].bounded
            marks = bounded and bool(np.isin(values[known], (0, 1)).all())
            share = marks and not table.is_clustered
            units = clustered(values[known], table.clusters[known])
            means[metric] = estimate(units, seed, share=share, bounded=bounded)
    answers = [pair.answer for pair in pairs]
    times = {
        "latency": [one.latency_ms for one in answers],
        "first_token": [one.first_token_ms for one in answers if one.first_token_ms is not None],
    }
    return Summary(
        stated.name,
        stated,
        means,
        {name: _quantiles(values) for name, values in times.items() if values},
        len(answers),
        sum(one.cost_usd is None for one in answers),
        Counter(one.cost_source for one in answers),
        Counter(one.cost_tier for one in answers if one.cost_tier),
        Counter(one.error for one in answers if one.error),
        Counter(text for one in answers for text in one.warnings),
        _by_category(table, stated.name),
    )


def _quantiles(values: list[float]) -> tuple[float, float]:
    middle, high = np.quantile(np.array(values), (0.5, 0.95))
    return float(middle), float(high)


def _by_category(table: Table, name: str) -> Mapping[str, float]:
    values = table.values["quality"][name]
    found = {}
    for category in sorted({one for one in table.categories if one}):
        here = values[np.array([one == category for one in table.categories])]
        if not np.isnan(here).all():
            found[category] = float(np.nanmean(here))
    return found


def _frontiers(table: Table, seed: int) -> Iterator[Frontier]:
    """Yield the frontier of each set of objectives that all configurations have a value of."""
    if len(table.configs) < 2 or not table.prompts:
        return
    for objectives in _SETS:
        cube = np.stack([_losses(table, metric) for metric in objectives], axis=-1)
        known = ~np.isnan(cube).any((1, 2))
        if not known.any():
            continue
        relative = np.array([METRICS[metric].relative for metric in objectives])
        yield _frontier(table, objectives, (cube[known], table.clusters[known], relative), seed)


def _frontier(
    table: Table,
    objectives: tuple[str, ...],
    seen: tuple[Numbers, NDArray[np.int64], NDArray[np.bool]],
    seed: int,
) -> Frontier:
    cube, clusters, relative = seen
    on = frontier(cube.mean(0)[None], relative)[0]
    units = clustered(cube.reshape(len(cube), -1), clusters)
    likely = chances(units, (len(table.configs), len(objectives)), relative, seed)
    return Frontier(
        objectives,
        tuple(name for name, is_on in zip(table.configs, on, strict=True) if is_on),
        dict(zip(table.configs, likely, strict=True)),
    )


def _losses(table: Table, metric: str) -> Numbers:
    """Return *metric* with less being better: a row a prompt, a column a configuration."""
    values = np.stack([table.values[metric][name] for name in table.configs], axis=-1)
    return np.asarray(-METRICS[metric].sign * values)


@dataclass(frozen=True, slots=True)
class _Told:
    """What a reader has to know before believing the numbers."""

    plan: Plan
    table: Table
    found: Sequence[Comparison]
    audit: Audit | None
    missing: int

    def notes(self) -> Iterator[str]:
        """Yield a sentence each."""
        if self.missing:
            yield f"{self.missing} answers are still missing: the same command goes on with them."
        if self.table.left_out:
            yield f"{self.table.left_out} prompts are left out: not all configurations answered."
        if 0 < len(self.table.prompts) < FEW:
            yield f"Only {len(self.table.prompts)} prompts: intervals are wide, take more."
        if self.table.is_clustered:
            yield "Prompts of one document count as one piece of evidence."
        for name, pairs in self.table.pairs.items():
            yield from _of_answers(name, pairs)
        yield from self._of_repeats()
        if self.audit is not None and self.audit.unparsable > 0.05:
            yield f"The judge gave no score for {self.audit.unparsable:.0%} of what it was shown."
        yield from _of_judge(self.table)

    def _of_repeats(self) -> Iterator[str]:
        for one in self.found:
            if one.metric.name == "quality" and one.within is not None and one.within > 0.5:
                yield (
                    f"{one.candidate}: {one.within:.0%} of the spread is that of repeats of the "
                    "same prompt: more repeats help as well as more prompts."
                )


def _of_judge(table: Table) -> Iterator[str]:
    pairs = [pair for row in table.pairs.values() for pair in row]
    errors = Counter(pair.grade.judge_error for pair in pairs if pair.grade.judge_error)
    for message, count in errors.most_common(_MOST_MESSAGES):
        yield f"The judge failed on {count} of {len(pairs)} answers: {message}"


def _of_answers(name: str, pairs: Sequence[Pair]) -> Iterator[str]:
    errors = Counter(pair.answer.error for pair in pairs if pair.answer.error)
    for message, count in errors.most_common(_MOST_MESSAGES):
        yield f"{name}: {count} of {len(pairs)} answers failed, and count as 0: {message}"
    if again := sum(pair.answer.retries > 0 for pair in pairs):
        yield f"{name}: {again} of {len(pairs)} answers were refused at first, and asked for again."
    unknown = sum(pair.answer.cost_usd is None for pair in pairs)
    if unknown:
        yield f"{name}: the cost of {unknown} of {len(pairs)} answers is not known: state pricing."
    not_run = sum(pair.grade.note == "not run" for pair in pairs)
    if not_run:
        yield f"{name}: {not_run} programs could not be run, and count as half right."
    warned = Counter(text.partition(":")[0] for pair in pairs for text in pair.answer.warnings)
    for code, count in warned.most_common(_MOST_MESSAGES):
        yield f"{name}: {count} of {len(pairs)} answers came with the warning {code}."
