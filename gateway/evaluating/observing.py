"""What a router can learn of an evaluation: how each arm did beside the plain call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final

from gateway.planning.options import size_option
from gateway.routing.specs import spec_of
from router_service.arms import PLAIN, Arm
from router_service.contract import Encoder, Features, Observation, Vector
from router_service.evaluation.configurations import Configuration
from router_service.evaluation.grading import Question
from router_service.evaluation.records import AnswerRow, GradeRow, Records
from router_service.evaluation.running import Job, Plan
from router_service.features import prompt_of
from router_service.learning.rewards import RELIABILITY
from techniques import catalog
from techniques.core import registry
from techniques.core.errors import RequestRejected

_PLAIN: Final = frozenset({"none", "baseline"})
_CHOSEN: Final = "auto"  # what a router chose is written down by whoever it chose for
_SAID: Final = ("x-lockgate-channels", "x-lockgate-judge", "x-lockgate-critic")
_TESTED: Final = 0.6  # the share of a comparison in a mark that a judge has a part in


async def observations(plan: Plan, records: Records, encoder: Encoder) -> list[Observation]:
    """Return an observation of each answer of an arm whose plain call was asked the same.

    Vectors are those of *encoder*. What another server than Lockgate answered is no arm.
    """
    places = await _places(plan.questions, encoder)
    plains = _plains(plan)
    sums = {name: _by_prompt(plan, records, name) for name in set(plains.values())}
    found = []
    for job in plan.jobs():
        told = _told(plan, records, job)
        plain = plains.get(job.contestant.configuration.name)
        if told is None or plain is None or not told[0].technique:
            continue
        quality, cost = sums[plain].get(job.key.prompt, (None, None))
        features, vector = places[job.key.prompt]
        seen = {"plain_quality": quality, "features": features, "vector": vector}
        found.append(_observed(job, told, cost).model_copy(update=seen))
    return found


async def _places(
    questions: Sequence[Question], encoder: Encoder
) -> Mapping[str, tuple[Features, Vector | None]]:
    """Return what is told of each prompt, and where it lies."""
    found = {}
    for one in questions:
        prompt = prompt_of(one.request, one.prompt.category)
        found[one.prompt.hash] = prompt.features, await encoder.encode(prompt.text)
    return found


def _plains(plan: Plan) -> Mapping[str, str]:
    """Return by each configuration the one that is its plain call: itself, if it is plain."""
    stated = [one.configuration for one in plan.contestants]
    plain = {_setting(one): one.name for one in stated if _is_plain(one)}
    return {
        one.name: plain[_setting(one)]
        for one in stated
        if _setting(one) in plain and one.technique != _CHOSEN and not _elsewhere(one)
    }


def _setting(one: Configuration) -> tuple[str, str, str]:
    return one.base_url, one.model, repr(sorted(one.body.items()))


def _is_plain(one: Configuration) -> bool:
    return (one.technique or "none") in _PLAIN and not _elsewhere(one)


def _elsewhere(one: Configuration) -> bool:
    """Return whether it names other models, of which the records tell nothing."""
    return any(name in _SAID for name in one.wishes())


def _by_prompt(
    plan: Plan, records: Records, name: str
) -> Mapping[str, tuple[float | None, float | None]]:
    """Return by prompt the mean quality and cost of the configuration called *name*."""
    pairs: defaultdict[str, list[tuple[AnswerRow, GradeRow]]] = defaultdict(list)
    for job in plan.jobs():
        told = _told(plan, records, job)
        if told is not None and job.contestant.configuration.name == name:
            pairs[job.key.prompt].append(told)
    return {prompt: (_mean_quality(told), _mean_cost(told)) for prompt, told in pairs.items()}


def _mean_quality(told: Sequence[tuple[AnswerRow, GradeRow]]) -> float | None:
    known = [grade.quality for _, grade in told if grade.quality is not None]
    return fmean(known) if known else None


def _mean_cost(told: Sequence[tuple[AnswerRow, GradeRow]]) -> float | None:
    known = [answer.cost_usd for answer, _ in told if answer.cost_usd is not None]
    return fmean(known) if known else None


def _told(plan: Plan, records: Records, job: Job) -> tuple[AnswerRow, GradeRow] | None:
    answer = records.answers.get(job.key)
    grade = records.grades.get((job.key, plan.grader.hash(job.question)))
    return None if answer is None or grade is None else (answer, grade)


def _observed(job: Job, told: tuple[AnswerRow, GradeRow], plain_cost: float | None) -> Observation:
    answer, grade = told
    stated = job.contestant.configuration
    ratio = None if answer.cost_usd is None or not plain_cost else answer.cost_usd / plain_cost
    source, reliability = _source(grade)
    return Observation(
        id=f"eval:{job.key.config}:{job.key.prompt}:{job.key.repeat}",
        request_id=f"eval:{job.key.prompt}:{job.key.repeat}",
        at=answer.at,
        model=stated.model,
        arm=_arm(stated, answer).name,
        pool=(spec_of(stated.model),),
        params_hash=job.key.config,
        quality=grade.quality,
        source=source,
        reliability=reliability,
        cost_usd=answer.cost_usd,
        cost=ratio,
        calls=answer.calls or 1,
        latency_ms=answer.latency_ms,
        first_token_ms=answer.first_token_ms,
        outcome="error" if answer.error else "success",
    )


def _source(grade: GradeRow) -> tuple[str, float]:
    """Return who said what an answer is worth, and how far that is to be believed."""
    if grade.judged is None:
        return "tests", RELIABILITY["tests"]
    if grade.exact is None:
        return "judge", RELIABILITY["judge"]
    both = _TESTED * RELIABILITY["tests"] + (1 - _TESTED) * RELIABILITY["judge"]
    return "tests+judge", both


def _arm(stated: Configuration, answer: AnswerRow) -> Arm:
    """Return the arm that answered."""
    technique = answer.technique
    if technique in _PLAIN:
        return PLAIN
    card = registry.load(catalog).get(technique)
    if card is None:
        return Arm(technique)
    try:
        option = size_option(card)
    except RequestRejected:
        return Arm(technique)
    size = stated.params.get(option, card.options.model_fields[option].default)
    return Arm(technique, size if isinstance(size, int) and size > 0 else None)


def lines(rows: Sequence[Observation]) -> Iterator[str]:
    """Yield *rows* as ``POST /v1/observations`` of a router takes them."""
    for row in rows:
        yield row.model_dump_json(exclude_defaults=True)
