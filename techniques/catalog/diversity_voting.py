"""Several models that vote, each answer with a weight of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.vote import Voting, vote
from techniques.parts.options import (
    AnswerCue,
    JudgedVote,
    MostSamples,
    SoftmaxTemperature,
    Stop,
    Sureness,
    Temperature,
    confidence_rule,
    judged_rule,
    threshold,
)
from techniques.phases.attempt import begin
from techniques.phases.evidence import confidence_source
from techniques.phases.pool import of_many


class SureVote(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how confidence counts, and when there are enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    softmax_temperature: SoftmaxTemperature = None
    stop: Stop = "exact"
    confidence: Sureness = 0.95
    answer_cue: AnswerCue = "auto"


@technique(
    options=JudgedVote,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (ratio combining); Snell et al. 2024, arXiv:2408.03314 (best-of-N "
        "weighted)",
        worst="10; 17 for prose with a judge that must be asked twice each time",
        typical="8",
        avoid="One model is clearly the best and the judge cannot tell: uncalibrated, the "
        "others outvote it.",
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
        of_many(begin(task, channels, "diversity_mrc_discrete_N")),
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
        source="Brennan 1959 (ratio combining); Taubenfeld et al. 2025, arXiv:2502.06233",
        worst="5; 7 for prose that no key can be found in",
        typical="4.5",
        avoid="One model is clearly the best: uncalibrated, what the others are sure of counts as "
        "much.",
        needs=("two models", "log-probabilities"),
        modality=VOTING,
    ),
)
def diversity_mrc_discrete_N_soft(  # noqa: N802 - the name is the interface
    task: Task[SureVote], channels: Channels
) -> AsyncGenerator[Event, None]:
    """Draw answers from the models in turn and return one of the answer they are surest of."""
    options = task.options
    attempt = of_many(begin(task, channels, "diversity_mrc_discrete_N_soft"))
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
