"""Tables of made-up measurements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from router_service.evaluation.records import AnswerRow, GradeRow
from router_service.evaluation.samples import METRICS, Pair, Table
from router_service.evaluation.statistics.distributions import Numbers


def pair(quality: float | None, **answer: object) -> Pair:
    """Return an answer of that *quality*, and whatever else *answer* says."""
    keyed = {"config_hash": "c", "prompt_hash": "p", "repeat": 0}
    told = {"config": "c", "prompt": "p", "latency_ms": 100.0, **keyed, **answer}
    grade = GradeRow.model_validate({**keyed, "grader_hash": "g", "quality": quality})
    return Pair(AnswerRow.model_validate(told), grade)


def table(values: Mapping[str, Mapping[str, Numbers]], clusters: Numbers | None = None) -> Table:
    """Return what was measured, by metric and configuration; what is not said is not known."""
    names = tuple(next(iter(values.values())))
    count = len(next(iter(next(iter(values.values())).values())))
    unknown = {name: np.full(count, np.nan) for name in names}
    return Table(
        configs=names,
        prompts=tuple(map(str, range(count))),
        categories=("",) * count,
        clusters=np.arange(count) if clusters is None else clusters.astype(np.int64),
        pairs={name: [pair(1.0)] * count for name in names},
        values={metric: values.get(metric, unknown) for metric in METRICS},
        within=dict.fromkeys(METRICS, unknown),
    )
