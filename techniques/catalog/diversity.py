"""Several models, one answer: select among them, or let them vote."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.attempt import Attempt, begin
from techniques.engines.select import Selecting, select
from techniques.engines.single import collapsed
from techniques.engines.vote import Voting, vote
from techniques.engines.weighing import confidence_source
from techniques.parts.options import (
    AnswerCue,
    ExpectedImprovement,
    MostSamples,
    Pairwise,
    SoftmaxTemperature,
    Stop,
    StopAt,
    Sureness,
    Temperature,
    Weights,
    confidence_rule,
    judged_rule,
    threshold,
)

_PRICE: Final = 2.0  # plain calls: a draw, and the judge's call
_SOURCE: Final = "Brennan 1959 (selection and ratio combining); "


class OncePerModel(BaseModel, frozen=True, extra="forbid"):
    """How many models, and what to do when two are as good."""

    channels: int = Field(6, ge=2, le=6, description="Most models of the pool to ask, 2 to 6.")
    pairwise: Pairwise = True


class Selection(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how different they may be, and when one is good enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    stop_at: StopAt = 0.90
    expected_improvement: ExpectedImprovement = True
    pairwise: Pairwise = True


class JudgedVote(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how their scores count, and when there are enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    weights: Weights = "shrunk"
    stop: Stop = "beta"
    confidence: Sureness = 0.95
    answer_cue: AnswerCue = "auto"


class SureVote(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how confidence counts, and when there are enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    softmax_temperature: SoftmaxTemperature = None
    stop: Stop = "exact"
    confidence: Sureness = 0.95
    answer_cue: AnswerCue = "auto"


@technique(
    options=OncePerModel,
    traits=Traits(
        family="diversity",
        source=_SOURCE + "Jiang et al. 2023, arXiv:2306.02561 (ranking the answers of several "
        "models)",
        worst="2 for each model, and 2",
        typical="2 for each model",
        avoid="One of the models is better than the others at everything: ask that one.",
        needs=("two models", "judge"),
    ),
)
def diversity_sc(task: Task[OncePerModel], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask each model once, have the answers judged, and return the best."""
    attempt = begin(task, channels, "diversity_sc")
    models = min(len(channels.pool), task.options.channels)
    if models < 2:
        attempt.warn("technique_masked", "diversity_sc: the pool has one model")
        return collapsed(attempt)
    return select(
        attempt,
        Selecting(
            samples=models,
            temperature=None,
            stop_at=math.inf,
            price=None,
            pairwise=task.options.pairwise,
            everyone=True,
            wave=models,
        ),
    )


@technique(
    options=Selection,
    traits=Traits(
        family="diversity",
        source=_SOURCE + "Cobbe et al. 2021, arXiv:2110.14168",
        worst="12; 17 with a judge that must be asked twice each time",
        typical="7.5",
        avoid="Answers can be compared exactly (a number, a letter): voting is cheaper and surer.",
        needs=("two models", "judge"),
    ),
)
def diversity_sc_N(  # noqa: N802 - the name is the interface
    task: Task[Selection], channels: Channels
) -> AsyncGenerator[Event, None]:
    """Draw several answers from the models in turn, have each one judged, and return the best."""
    options = task.options
    return select(
        _of_many(begin(task, channels, "diversity_sc_N")),
        Selecting(
            samples=options.num_samples,
            temperature=options.temperature,
            stop_at=options.stop_at,
            price=_PRICE if options.expected_improvement else None,
            pairwise=options.pairwise,
            everyone=True,
        ),
    )


@technique(
    options=JudgedVote,
    traits=Traits(
        family="diversity",
        source=_SOURCE + "Snell et al. 2024, arXiv:2408.03314 (best-of-N weighted)",
        worst="10; 17 for prose with a judge that must be asked twice each time",
        typical="8",
        avoid="One model is clearly the best and the judge cannot tell: the others outvote it.",
        needs=("two models", "judge"),
        modality=VOTING,
    ),
)
def diversity_mrc_discrete_N(  # noqa: N802 - the name is the interface
    task: Task[JudgedVote], channels: Channels
) -> AsyncGenerator[Event, None]:
    """Draw answers from the models in turn and return one of most weight in a judge's eyes."""
    options = task.options
    return vote(
        _of_many(begin(task, channels, "diversity_mrc_discrete_N")),
        Voting(
            samples=options.num_samples,
            temperature=options.temperature,
            threshold=threshold(options.stop, options.confidence),
            everyone=True,
            cue=options.answer_cue == "auto",
            evidence="judge",
            rule=judged_rule(options.weights),
        ),
    )


@technique(
    options=SureVote,
    traits=Traits(
        family="diversity",
        source=_SOURCE + "Taubenfeld et al. 2025, arXiv:2502.06233",
        worst="5; 7 for prose that no key can be found in",
        typical="4.5",
        avoid="One model is clearly the best: what the others are sure of counts as much.",
        needs=("two models", "log-probabilities"),
        modality=VOTING,
    ),
)
def diversity_mrc_discrete_N_soft(  # noqa: N802 - the name is the interface
    task: Task[SureVote], channels: Channels
) -> AsyncGenerator[Event, None]:
    """Draw answers from the models in turn and return one of the answer they are surest of."""
    options = task.options
    attempt = _of_many(begin(task, channels, "diversity_mrc_discrete_N_soft"))
    source = confidence_source(attempt, "response_probability", channels.pool)
    return vote(
        attempt,
        Voting(
            samples=options.num_samples,
            temperature=options.temperature,
            threshold=threshold(options.stop, options.confidence),
            everyone=True,
            cue=options.answer_cue == "auto",
            evidence=source,
            rule=confidence_rule(source, options.softmax_temperature),
        ),
    )


def _of_many(attempt: Attempt) -> Attempt:
    """Return *attempt*, with a warning if its pool has only one model."""
    if len(attempt.channels.pool) < 2:
        attempt.warn("one_model", "All draws come from one model; they err alike.")
    return attempt
