"""Connects what is learnt beside the traffic with the requests that a router has chosen for."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import numpy as np
import structlog

from gateway.learning.counts import LearningCounters
from gateway.learning.learnt import Answered, Learner
from gateway.learning.running import Laboratory
from gateway.learning.sampler import Sampler
from gateway.planning.planner import CASCADE
from gateway.policy.access import may_use
from gateway.policy.models import Model
from gateway.routing.observing import Ended, Observer
from pricing.names import family
from router_service.arms import Arm, arm_of
from router_service.contract import Observation, Observations
from router_service.learning.settings import LearningSettings
from techniques.core.errors import UnknownModel
from techniques.core.groups import task_group

_FIRST: Final = re.compile(r"[a-z]+")
_SAME: Final = {"o": "gpt", "chatgpt": "gpt", "codex": "gpt", "gemma": "gemini"}

_log = structlog.get_logger()


@asynccontextmanager
async def studying(
    settings: LearningSettings,
    observer: Observer,
    tells: tuple[Observations, LearningCounters],
    laboratory: Laboratory,
) -> AsyncGenerator[Sampler, None]:
    """Study some of what *observer* sees; leaving lets go what is not studied yet.

    *tells* are who keeps what is learnt, and who counts it.
    """
    observations, counts = tells
    dice = np.random.default_rng()
    sampling = settings.sampling
    learner = Learner(observations, dice, sampling.trace_samples)
    sampler = Sampler(sampling, laboratory, learner, dice=dice, counts=counts)
    offers = _Offers(settings, sampler, laboratory)
    observer.listener = sampler.listens
    observer.beside.append(offers.ended)
    async with task_group() as group:
        group.start_soon(sampler.serve)
        yield sampler
        observer.listener = None
        observer.beside.remove(offers.ended)
        group.cancel_scope.cancel()


class _Offers:
    """Offers the sampler what has ended, with all that it takes to study it."""

    def __init__(
        self, settings: LearningSettings, sampler: Sampler, laboratory: Laboratory
    ) -> None:
        self._settings = settings
        self._sampler = sampler
        self._laboratory = laboratory
        self._alike: set[tuple[str, str]] = set()

    def ended(self, ended: Ended, observed: Observation) -> None:
        """Take in how a request ended; never waits."""
        self._sampler.earn(observed.cost_usd or 0.0)
        if ended.call is None or observed.outcome != "success":
            return
        try:
            answered = self._answered(ended, observed)
        except UnknownModel:  # the configuration has changed meanwhile
            return
        self._warn(answered)
        self._sampler.offer(answered)

    def _answered(self, ended: Ended, observed: Observation) -> Answered:
        assert ended.call is not None
        assert ended.plan.query is not None
        planner = self._laboratory.pipeline.planner
        find, plan = planner.catalogue.find, ended.plan
        model = find(ended.plan.query.model)
        arms = [offer.arm for offer in ended.plan.query.offers if not offer.masked]
        others = dict.fromkeys(_channels(model, map(arm_of, arms)))
        valuer = self._settings.judge
        return Answered(
            ended.call,
            model,
            observed,
            plan.heard,
            arms,
            tuple(map(find, others)),
            _open_to(ended, plan.judge),
            _open_to(ended, None if valuer is None else find(valuer)),
            planner.defaults.options,
        )

    def _warn(self, answered: Answered) -> None:
        """Tell once of a judge that is of the family of the model whose answers it judges."""
        judge = answered.valuer or answered.judge
        if judge is None:
            return
        pair = judge.name, answered.model.name
        theirs = _house(judge.target.model)
        related = theirs and theirs == _house(answered.model.target.model)
        if related and pair not in self._alike and not judge.simulated:
            self._alike.add(pair)
            _log.warning("learning.judge_related", judge=pair[0], model=pair[1], family=theirs)


def _open_to(ended: Ended, judge: Model | None) -> Model | None:
    """Return *judge* if the key may use it: nobody asked for its prompts to go there to learn."""
    return judge if judge is not None and may_use(ended.caller, judge) else None


def _house(name: str) -> str:
    """Return who a model of that *name* is likely to come from: its first word, no number."""
    found = _FIRST.match(family(name))
    word = found[0] if found else ""
    return _SAME.get(word, word)


def _channels(model: Model, arms: Iterator[Arm]) -> Iterator[str]:
    """Yield the models that *arms* name beside *model* itself."""
    for arm in arms:
        if arm.channel != Arm().channel:
            yield arm.channel
        elif arm.technique == CASCADE and model.stronger is not None:
            yield model.stronger
