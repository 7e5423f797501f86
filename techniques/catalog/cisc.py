"""Self-consistency that asks the model how sure it is, and lets its votes weigh by that."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.vote import Voting, vote
from techniques.parts.options import (
    AnswerCue,
    SoftmaxTemperature,
    Stop,
    Sureness,
    Temperature,
    confidence_rule,
    threshold,
)
from techniques.phases.attempt import begin
from techniques.phases.evidence import confidence_source


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, where confidence comes from and how it counts, and when to stop."""

    num_samples: int = Field(5, ge=2, le=40, description="Most draws, 2 to 40.")
    temperature: Temperature = 0.7
    csi_source: Literal["auto", "p_true", "response_probability", "verbal_100"] = Field(
        "auto",
        description="Confidence: a second question whether the answer is right (p_true, one more "
        "token each), the probability of its tokens (response_probability), or a line in which "
        "the model states it (verbal_100). auto: p_true if the model reports log-probabilities.",
    )
    softmax_temperature: SoftmaxTemperature = None
    stop: Stop = "exact"
    confidence: Sureness = 0.95
    answer_cue: AnswerCue = "auto"


@technique(
    options=Options,
    traits=Traits(
        family="voting",
        source="Taubenfeld et al. 2025, arXiv:2502.06233",
        worst="10 with p_true, else 5; 2 more for prose that no key can be found in",
        typical="9.2 with p_true, else 4.5",
        avoid="The task is creative or open, or the model is as sure of its wrong answers as of "
        "its right ones.",
        modality=VOTING,
    ),
)
def cisc(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers and return one of the answer that the model is surest of overall."""
    options = task.options
    attempt = begin(task, channels, "cisc")
    source = confidence_source(attempt, options.csi_source, (channels.primary,))
    return vote(
        attempt,
        Voting(
            samples=options.num_samples,
            temperature=options.temperature,
            threshold=threshold(options.stop, options.confidence),
            cue=options.answer_cue == "auto",
            evidence=source,
            rule=confidence_rule(source, options.softmax_temperature),
        ),
    )
