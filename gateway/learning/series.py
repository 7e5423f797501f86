"""Prompts answered by full traces, one after the other, and what is learnt of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import numpy as np

from gateway.clock import utc_now
from gateway.learning.estimates import Usual, expected_usd
from gateway.learning.grading import gradable, grades
from gateway.learning.learnt import EFFORTS, beside, unpriced
from gateway.learning.prompts import Prompt, Written
from gateway.learning.running import Laboratory, Studied, Study
from gateway.learning.studies import TRACE, Drawing, Findings, full_trace
from gateway.learning.traces import priced, trace_of
from gateway.policy.models import Model
from gateway.wire.dialect import Call
from router_service.arms import Arm
from router_service.contract import Encoder, ModelSpec, Observation
from router_service.features import prompt_of
from router_service.learning.replay import observed, replayed
from router_service.learning.rewards import RELIABILITY, Source
from techniques.core.groups import task_group
from techniques.core.json import Json
from techniques.core.request import Request
from techniques.parts.answers import expect


@dataclass(frozen=True, slots=True)
class Subject:
    """A model of which is to be learnt which arms pay.

    ``others`` are the models that arms name beside it, ``pool`` what a router is told of them all.
    ``options`` are those of techniques. ``call`` makes a call of a conversation.
    """

    model: Model
    arms: tuple[Arm, ...]
    call: Callable[[Sequence[Json]], Call]
    others: tuple[Model, ...] = ()
    pool: tuple[ModelSpec, ...] = ()
    judge: Model | None = None
    valuer: Model | None = None
    samples: int = 5
    options: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(slots=True)
class Tally:
    """How far it has come: prompts by what came of them, and dollars."""

    learnt: int = 0
    nothing: int = 0
    failed: int = 0
    left: int = 0
    usd: float = 0.0
    priced: bool = True


@dataclass(frozen=True, slots=True)
class _Work:
    subject: Subject
    prompt: Prompt
    request: Request
    study: Study
    found: Findings
    graded: bool
    expected: float


class Series:
    """Carries traces out until all prompts are done, or the next might cost more than *most_usd*.

    What is learnt of a prompt is *written* at once; what is written already is not done again.
    """

    def __init__(
        self, laboratory: Laboratory, encoder: Encoder | None, written: Written, most_usd: float
    ) -> None:
        self._laboratory = laboratory
        self._encoder = encoder
        self._written = written
        self._most = most_usd
        self._usual = Usual()
        self._held = 0.0
        self.tally = Tally()

    def to_do(self, subjects: Sequence[Subject], prompts: Sequence[Prompt]) -> list[_Work]:
        """Return what is not done yet."""
        return [
            _work(subject, prompt)
            for prompt in prompts
            for subject in subjects
            if _named(subject, prompt) not in self._written.done
        ]

    async def run(
        self, works: Sequence[_Work], width: int, progress: Callable[[Tally], None]
    ) -> Tally:
        """Do *works*, *width* at a time; *progress* is told after each."""
        limiter = anyio.CapacityLimiter(width)

        async def one(work: _Work) -> None:
            async with limiter:
                await self._one(work)
            progress(self.tally)

        async with task_group() as group:
            for work in works:
                group.start_soon(one, work)
        return self.tally

    async def _one(self, work: _Work) -> None:
        tally, expected = self.tally, self._usual.expected(TRACE, work.expected)
        if tally.usd + self._held + expected > self._most:
            tally.left += 1
            return
        self._held += expected
        try:
            studied = await self._laboratory.carry_out(work.study)
        finally:
            self._held -= expected
        tally.usd += studied.usd
        tally.priced = tally.priced and priced(studied.rows)
        self._usual.learn(TRACE, work.expected, studied.usd)
        if studied.failure is not None:
            tally.failed += 1
            return
        rows = await self._rows(work, studied)
        if rows:
            self._written.add(rows)
        tally.learnt += bool(rows)
        tally.nothing += not rows

    async def _rows(self, work: _Work, studied: Studied) -> list[Observation]:
        subject, found = work.subject, work.found
        reference = work.prompt.reference
        told: dict[int, float] = {}
        if work.graded and found.expected is not None and reference is not None:
            told = grades(found.candidates, found.expected, reference)
        others = beside(subject.model, subject.others, subject.arms)
        trace = trace_of(found, studied.rows, others, told)
        if trace is None:
            return []
        dice = np.random.default_rng(_SEED)
        outcomes = await anyio.to_thread.run_sync(
            partial(replayed, trace, subject.arms, subject.options, dice)
        )
        if not outcomes:
            return []
        source: Source = "reference" if work.graded else "judge"
        plainly = await self._plainly(work)
        rows = observed(outcomes, plainly, source, RELIABILITY[source])
        return rows if priced(studied.rows) else unpriced(rows)

    async def _plainly(self, work: _Work) -> Observation:
        told = prompt_of(work.request, work.prompt.category)
        vector = None
        if self._encoder is not None and told.text:
            vector = await self._encoder.encode(told.text)
        name = _named(work.subject, work.prompt)
        return Observation(
            id=name,
            request_id=name,
            at=utc_now().timestamp(),
            model=work.subject.model.name,
            arm="none",
            features=told.features,
            vector=vector,
            pool=work.subject.pool,
        )


def unjudged(subjects: Sequence[Subject], prompts: Sequence[Prompt]) -> list[str]:
    """Return the names of prompts whose answers nobody could tell the worth of."""
    if all(subject.judge is not None for subject in subjects):
        return []
    asked = [(prompt, subjects[0].call(prompt.messages).relay.decode()) for prompt in prompts]
    return [
        prompt.name for prompt, request in asked if not gradable(expect(request), prompt.reference)
    ]


def _work(subject: Subject, prompt: Prompt) -> _Work:
    call = subject.call(prompt.messages)
    request, found = call.relay.decode(), Findings()
    graded = gradable(expect(request), prompt.reference)
    others = beside(subject.model, subject.others, subject.arms)
    drawing = Drawing(
        samples=subject.samples,
        efforts=tuple(one for one in EFFORTS if one in others.efforts),
        judged=subject.judge is not None,
        valued=not graded,
    )
    card, options = full_trace(found, drawing)
    pool = tuple(one for one in subject.others if one.name in others.models)
    study = Study(call, subject.model, card, options, pool, subject.judge, subject.valuer)
    expected = expected_usd(study, request)
    return _Work(subject, prompt, request, study, found, graded, expected)


def _named(subject: Subject, prompt: Prompt) -> str:
    return f"calibrate-{subject.model.name}-{prompt.name}"


_SEED: Final = 0
