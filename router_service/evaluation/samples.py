"""From records to numbers: one value a prompt and configuration, of everything measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from router_service.evaluation.records import AnswerRow, GradeRow, Records
from router_service.evaluation.running import Job, Plan
from router_service.evaluation.statistics.distributions import Numbers


class Pair(NamedTuple):
    """An answer and its mark."""

    answer: AnswerRow
    grade: GradeRow


@dataclass(frozen=True, slots=True)
class Metric:
    """Something measured of an answer, None where it is not known.

    ``relative``: differences are told as a share of what the baseline has. ``guards``: it must not
    get worse unseen, whatever a gate is on.
    """

    name: str
    read: Callable[[Pair], float | None]
    higher_is_better: bool = False
    relative: bool = False
    guards: bool = False

    @property
    def bounded(self) -> bool:
        """Whether it lies between 0 and 1."""
        return not self.relative

    @property
    def sign(self) -> int:
        """What makes of a difference a gain: 1, or -1 where less is better."""
        return 1 if self.higher_is_better else -1


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("quality", lambda pair: pair.grade.quality, higher_is_better=True),
        Metric("cost", lambda pair: pair.answer.cost_usd, relative=True),
        Metric("latency", lambda pair: pair.answer.latency_ms, relative=True),
        Metric("first_token", lambda pair: pair.answer.first_token_ms, relative=True),
        Metric("calls", lambda pair: pair.answer.calls, relative=True),
        Metric("error_rate", lambda pair: float(bool(pair.answer.error)), guards=True),
        Metric("refusal_rate", lambda pair: float(pair.grade.refused), guards=True),
        Metric(
            "schema_valid_rate",
            lambda pair: pair.grade.schema_valid,
            higher_is_better=True,
            guards=True,
        ),
        Metric("degraded_rate", lambda pair: float(pair.answer.degraded)),
    )
}


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured; rows are prompts that every configuration has answered and had marked.

    ``values`` are means over repeats by metric and configuration, nan where not known; ``within``
    how much repeats differ (the variance of one), nan without repeats. ``left_out`` prompts miss
    some answer.
    """

    configs: tuple[str, ...]
    prompts: tuple[str, ...]
    categories: tuple[str, ...]
    clusters: np.ndarray[tuple[int], np.dtype[np.int64]]
    pairs: Mapping[str, Sequence[Pair]]
    values: Mapping[str, Mapping[str, Numbers]]
    within: Mapping[str, Mapping[str, Numbers]]
    left_out: int = 0

    @property
    def is_clustered(self) -> bool:
        """Whether some prompts are about the same document."""
        return len(np.unique(self.clusters)) < len(self.clusters)


def table_of(plan: Plan, records: Records) -> Table:
    """Return what *records* tell of what was planned."""
    pairs: dict[tuple[str, str], list[Pair]] = {}
    for job in plan.jobs():
        if (pair := _pair(plan, records, job)) is not None:
            place = job.contestant.configuration.name, job.question.prompt.hash
            pairs.setdefault(place, []).append(pair)
    names = tuple(one.configuration.name for one in plan.contestants)
    prompts = [question.prompt for question in plan.questions]
    whole = [p for p in prompts if all((name, p.hash) in pairs for name in names)]
    documents = [prompt.document for prompt in whole]
    places = {document: place for place, document in enumerate(dict.fromkeys(documents))}
    cells = {
        metric.name: {
            name: [_read(metric, pairs[name, prompt.hash]) for prompt in whole] for name in names
        }
        for metric in METRICS.values()
    }
    return Table(
        names,
        tuple(prompt.id for prompt in whole),
        tuple(prompt.category for prompt in whole),
        np.array([places[document] for document in documents], dtype=np.int64),
        {name: [p for prompt in whole for p in pairs[name, prompt.hash]] for name in names},
        {m: {n: _means(row) for n, row in by_name.items()} for m, by_name in cells.items()},
        {m: {n: _variances(row) for n, row in by_name.items()} for m, by_name in cells.items()},
        len(prompts) - len(whole),
    )


def _pair(plan: Plan, records: Records, job: Job) -> Pair | None:
    answer = records.answers.get(job.key)
    grade = records.grades.get((job.key, plan.grader.hash(job.question)))
    return None if answer is None or grade is None else Pair(answer, grade)


def _read(metric: Metric, pairs: Sequence[Pair]) -> list[float | None]:
    return [metric.read(pair) for pair in pairs]


def _means(rows: Sequence[Sequence[float | None]]) -> Numbers:
    """Return the mean of each row; not known where any of it is not."""
    return np.array(list(_each_mean(rows)), dtype=float)


def _each_mean(rows: Sequence[Sequence[float | None]]) -> Iterator[float]:
    for row in rows:
        known = [value for value in row if value is not None]
        yield sum(known) / len(known) if len(known) == len(row) else float("nan")


def _variances(rows: Sequence[Sequence[float | None]]) -> Numbers:
    found = []
    for row in rows:
        known = [value for value in row if value is not None]
        found.append(float(np.var(known, ddof=1)) if len(known) > 1 else float("nan"))
    return np.array(found, dtype=float)
