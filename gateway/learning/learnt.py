"""What is asked to study a request that was answered, and what is then written down of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, get_args

import anyio
import anyio.to_thread
import numpy as np

from gateway.channels.overheard import Heard
from gateway.learning.counts import Kind
from gateway.learning.running import Studied, Study
from gateway.learning.studies import (
    Drawing,
    Findings,
    Sampling,
    Verdict,
    full_trace,
    judge_sample,
)
from gateway.learning.traces import Others, priced, trace_of
from gateway.policy.models import Model
from gateway.wire.dialect import Call
from router_service.arms import PLAIN, Arm, arm_of
from router_service.contract import Feedback, Observation, Observations
from router_service.learning.replay import observed, replayed
from router_service.learning.rewards import RELIABILITY, combined, compared
from techniques.core.json import Json
from techniques.parts.effort import Effort

_JUDGE: Final = "judge"
_PAUSES_S: Final = (1.0, 2.0, 4.0, 0.0)
EFFORTS: Final[tuple[Effort, ...]] = get_args(Effort)


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that was answered, and what was observed of it.

    ``heard`` is what a technique answered and began with, None where none ran, or nobody listened.
    ``arms`` are the names of those that were on offer. ``options`` are those of techniques.
    """

    call: Call
    model: Model
    observation: Observation
    heard: Heard | None = None
    arms: Sequence[str] = ()
    pool: tuple[Model, ...] = ()
    judge: Model | None = None
    valuer: Model | None = None
    options: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A study, and what makes something of what it found: whether that was anything."""

    study: Study
    learn: Callable[[Studied], Awaitable[bool]]


class Learner:
    """Makes observations of studies; *dice* are for orders that are looked at."""

    def __init__(self, observations: Observations, dice: np.random.Generator, samples: int) -> None:
        self._observations = observations
        self._dice = dice
        self._samples = samples

    def assignment(self, kind: Kind, answered: Answered) -> Assignment:
        """Return what is to be done to learn of *answered*."""
        if kind == "judge_sample":
            return self._judged(answered)
        return self._traced(answered)

    def _judged(self, answered: Answered) -> Assignment:
        verdict, arm = Verdict(), arm_of(answered.observation.arm)
        effort = next((one for one in EFFORTS if one == arm.effort), None)
        other = [one for one in answered.pool if one.name == arm.channel]
        wanted = Sampling(other=bool(other), effort=effort)
        card, options = judge_sample(verdict, answered.heard or Heard(), wanted)
        judge = answered.valuer or answered.judge
        study = Study(answered.call, answered.model, card, options, tuple(other), judge)
        return Assignment(study, partial(self._write_verdict, answered.observation, verdict))

    async def _write_verdict(self, of: Observation, verdict: Verdict, studied: Studied) -> bool:
        del studied
        said = verdict_on(of, verdict)
        if said is None:
            return False
        for pause in _PAUSES_S:  # what was observed may not have been written down yet
            if await self._observations.feedback(said):
                return True
            await anyio.sleep(pause)
        return False

    def _traced(self, answered: Answered) -> Assignment:
        found, arms = Findings(), tuple(map(arm_of, answered.arms))
        others = beside(answered.model, answered.pool, arms)
        drawing = Drawing(
            samples=self._samples,
            efforts=tuple(one for one in EFFORTS if one in others.efforts),
            judged=answered.judge is not None,
        )
        card, options = full_trace(found, drawing)
        pool = tuple(model for model in answered.pool if model.name in others.models)
        study = Study(
            answered.call,
            answered.model,
            card,
            options,
            pool,
            answered.judge or answered.valuer,
            answered.valuer,
        )
        return Assignment(study, partial(self._write_trace, answered, found, (others, arms)))

    async def _write_trace(
        self,
        answered: Answered,
        found: Findings,
        of: tuple[Others, Sequence[Arm]],
        studied: Studied,
    ) -> bool:
        others, arms = of
        trace = trace_of(found, studied.rows, others, {})
        if trace is None:
            return False
        outcomes = await anyio.to_thread.run_sync(
            partial(replayed, trace, arms, answered.options, self._dice)
        )
        if not outcomes:
            return False
        rows = observed(outcomes, answered.observation, _JUDGE, RELIABILITY[_JUDGE])
        await self._observations.observe(rows if priced(studied.rows) else unpriced(rows))
        return True


def verdict_on(of: Observation, verdict: Verdict) -> Feedback | None:
    """Return what a judge's *verdict* says of what was observed, None if that is nothing."""
    score = verdict.plain_score
    if of.arm == PLAIN.name:
        if score is None:
            return None
        return Feedback(
            request_id=of.request_id,
            quality=score,
            plain_quality=score,
            source=_JUDGE,
            reliability=RELIABILITY[_JUDGE],
        )
    if verdict.side is None:
        return None
    reward = combined([compared(verdict.side)], *([] if score is None else [score]))
    assert reward is not None
    return Feedback(
        request_id=of.request_id,
        quality=reward.quality,
        plain_quality=reward.plain_quality,
        source=reward.source,
        reliability=reward.reliability,
    )


def beside(model: Model, pool: Iterable[Model], arms: Iterable[Arm]) -> Others:
    """Return who is asked beside *model* itself, so that something can be said of *arms*."""
    arms = tuple(arms)
    channels = {arm.channel for arm in arms}
    goes_on = any(arm.technique == "cascade" for arm in arms)
    models = [
        one.name for one in pool if one.name != model.name and (one.name in channels or goes_on)
    ]
    efforts = [arm.effort for arm in arms if arm.technique == PLAIN.technique and arm.effort]
    return Others(models, [one for one in EFFORTS if one in efforts])


def unpriced(rows: Iterable[Observation]) -> list[Observation]:
    """Return *rows* without dollars: what stood for them was no money."""
    return [row.model_copy(update={"cost_usd": None}) for row in rows]


def plain_usd(observed: Observation) -> float | None:
    """Return what a plain call of the same request has cost, or would have; None: not known."""
    if observed.cost_usd is None or not observed.cost:
        return None
    return observed.cost_usd / observed.cost
