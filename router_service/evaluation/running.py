"""Asks every configuration every prompt, side by side in time, and has the answers marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from router_service.evaluation.configurations import Configuration
from router_service.evaluation.grading import Grader, Question
from router_service.evaluation.records import (
    AnswerRow,
    ConfigRow,
    Key,
    PromptRow,
    RecordFile,
    Records,
    RescoreRow,
    SwapRow,
)
from techniques.core.groups import task_group

_RESCORED_SHARE: Final = 0.01
_RESCORED_LEAST: Final = 10
_SWAPPED: Final = 20


class Caller(Protocol):
    """Asks one configuration."""

    async def answer(self, question: Question, repeat: int) -> AnswerRow:
        """Return what came of asking *question*; a failure is an answer too."""
        ...


@dataclass(frozen=True, slots=True)
class Contestant:
    """A configuration, and what asks it. Only the prompt's request reaches that."""

    configuration: Configuration
    caller: Caller


@dataclass(frozen=True, slots=True)
class Job:
    """One answer that is wanted, and its mark."""

    contestant: Contestant
    question: Question
    repeat: int

    @property
    def key(self) -> Key:
        """Which answer it is."""
        return Key(self.contestant.configuration.hash, self.question.prompt.hash, self.repeat)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is to be asked. ``parallel`` jobs are under way at a time."""

    contestants: Sequence[Contestant]
    questions: Sequence[Question]
    grader: Grader
    repeats: int = 1
    seed: int = 0
    parallel: int = 4
    watch: Callable[[int, int], None] = field(default=lambda _done, _total: None)

    def watched(self, watch: Callable[[int, int], None]) -> Plan:
        """Return it with *watch* being told how many jobs are done, and of how many."""
        return replace(self, watch=watch)

    def jobs(self) -> Iterator[Job]:
        """Yield the jobs: prompt by prompt, so that all meet the same hour, in a drawn order.

        The order of each prompt depends on the seed and the prompt alone: it is that of a run that
        was stopped.
        """
        for repeat in range(self.repeats):
            for question in self.questions:
                dice = np.random.default_rng([self.seed, int(question.prompt.hash, 16), repeat])
                for place in dice.permutation(len(self.contestants)):
                    yield Job(self.contestants[place], question, repeat)


def left(plan: Plan, records: Records) -> list[Job]:
    """Return the jobs of *plan* that are not done yet, or not yet marked by its grader.

    Of a server that was not there, what it was to be asked is not done.
    """
    return [job for job in plan.jobs() if not _is_done(plan, records, job)]


def _is_done(plan: Plan, records: Records, job: Job) -> bool:
    answer = records.answers.get(job.key)
    if answer is None or answer.is_unasked:
        return False
    return (job.key, plan.grader.hash(job.question)) in records.grades


async def run(plan: Plan, file: RecordFile) -> None:
    """Do what is left of *plan*; what was done stays in *file* however this ends."""
    _introduce(plan, file)
    jobs = left(plan, file.records)
    total = len(plan.contestants) * len(plan.questions) * plan.repeats
    done = total - len(jobs)
    plan.watch(done, total)
    waiting = iter(jobs)

    async def work() -> None:
        nonlocal done
        for job in waiting:
            await _do(plan, file, job)
            done += 1
            plan.watch(done, total)

    async with task_group() as group:
        for _ in range(min(plan.parallel, len(jobs))):
            group.start_soon(work)
    await _audit(plan, file)


def _introduce(plan: Plan, file: RecordFile) -> None:
    for contestant in plan.contestants:
        stated = contestant.configuration
        row = ConfigRow(name=stated.name, config_hash=stated.hash, stated=stated.shown())
        if file.records.configs.get(stated.hash) != row:
            file.add(row)
    for question in plan.questions:
        prompt = question.prompt
        if prompt.hash not in file.records.prompts:
            file.add(
                PromptRow(
                    id=prompt.id,
                    prompt_hash=prompt.hash,
                    sent=prompt.sent(),
                    category=prompt.category,
                    metadata=prompt.metadata,
                )
            )


async def _do(plan: Plan, file: RecordFile, job: Job) -> None:
    answer = file.records.answers.get(job.key)
    if answer is None or answer.is_unasked:
        answer = await job.contestant.caller.answer(job.question, job.repeat)
        file.add(answer)
    file.add(await plan.grader.grade(job.question, answer))


async def _audit(plan: Plan, file: RecordFile) -> None:
    """Ask the judge some things twice, to know how far it is to be believed."""
    if plan.grader.judge is None:
        return
    rescores = list(_to_rescore(plan, file.records))
    swaps = list(_to_swap(plan, file.records))
    waiting: Iterator[Job | tuple[Job, Job]] = iter([*rescores, *swaps])

    async def work() -> None:
        for one in waiting:
            if isinstance(one, Job):
                await _rescore(plan, file, one)
            else:
                await _swap(plan, file, one[0], one[1])

    async with task_group() as group:
        for _ in range(plan.parallel):
            group.start_soon(work)


def _to_rescore(plan: Plan, records: Records) -> Iterator[Job]:
    judged = []
    for job in plan.jobs():
        grade = records.grades.get((job.key, plan.grader.hash(job.question)))
        if grade is not None and grade.judged is not None:
            judged.append(job)
    most = min(len(judged), max(_RESCORED_LEAST, round(_RESCORED_SHARE * len(judged))))
    dice = np.random.default_rng([plan.seed, 1])
    for place in dice.permutation(len(judged))[:most]:
        job = judged[place]
        if (job.key, plan.grader.hash(job.question)) not in records.rescores:
            yield job


async def _rescore(plan: Plan, file: RecordFile, job: Job) -> None:
    answer = file.records.answers[job.key]
    file.add(
        RescoreRow(
            config_hash=job.key.config,
            prompt_hash=job.key.prompt,
            repeat=job.key.repeat,
            grader_hash=plan.grader.hash(job.question),
            judged=(await plan.grader.judged(job.question, answer.reply())).score,
        )
    )


def _to_swap(plan: Plan, records: Records) -> Iterator[tuple[Job, Job]]:
    if len(plan.contestants) < 2:
        return
    dice = np.random.default_rng([plan.seed, 2])
    for place in dice.permutation(len(plan.questions))[:_SWAPPED]:
        question = plan.questions[place]
        one, other = dice.choice(len(plan.contestants), 2, replace=False)
        pair = tuple(Job(plan.contestants[at], question, 0) for at in (one, other))
        answers = [records.answers.get(job.key) for job in pair]
        if not question.rules.scoring.judges or any(a is None or a.error for a in answers):
            continue
        known = (plan.grader.hash(question), question.prompt.hash)
        if (*known, pair[0].key.config, pair[1].key.config, 0) not in records.swaps:
            yield pair[0], pair[1]


async def _swap(plan: Plan, file: RecordFile, first: Job, second: Job) -> None:
    question = first.question
    one, other = (file.records.answers[job.key].reply() for job in (first, second))
    file.add(
        SwapRow(
            grader_hash=plan.grader.hash(question),
            prompt_hash=question.prompt.hash,
            first=first.key.config,
            second=second.key.config,
            repeat=0,
            as_given=await plan.grader.prefers(question, one, other),
            swapped=await plan.grader.prefers(question, other, one),
        )
    )
