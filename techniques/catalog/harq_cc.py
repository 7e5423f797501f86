"""Hybrid ARQ with Chase combining: ask again until an answer is good enough, else combine all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.accumulate import Accumulating, accumulate
from techniques.parts.agree import comparable
from techniques.parts.cue import LastLine, cue
from techniques.parts.options import (
    AnswerCue,
    GuardOption,
    Sureness,
    Temperature,
    Weights,
    judged_rule,
    strictness,
)
from techniques.parts.weights import COUNT
from techniques.phases.attempt import begin
from techniques.phases.combining import Combining
from techniques.phases.contest import Terms

_WRITING_TEMPERATURE: Final = 0.3


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, when one is good enough, and what becomes of all of them if none is."""

    max_rounds: int = Field(
        5, ge=1, le=10, description="Most draws, 1 to 10: one at first, then two at a time."
    )
    quality_threshold: float = Field(
        0.85, ge=0.5, le=0.99, description="A score that is good enough to stop at, 0.5 to 0.99."
    )
    temperature: Temperature = 0.7
    weights: Weights = "shrunk"
    confidence: Sureness = 0.95
    guard: GuardOption = "full"
    answer_cue: AnswerCue = "auto"


@technique(
    options=Options,
    traits=Traits(
        family="retransmission",
        source="Chase 1985, IEEE Trans. Commun. 33(5) (code combining); Wang et al. 2024, "
        "arXiv:2406.04692 (aggregation)",
        worst="13; 19 with a judge that must be asked twice each time",
        typical="4",
        avoid="The judge is hard to please, or no better than the model: nearly all is paid for.",
        needs=("judge",),
        modality=replace(VOTING, logprobs="plain"),
    ),
)
def harq_cc(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw answers until a judge accepts one; if it accepts none, make one of all of them."""
    options = task.options
    attempt = begin(task, channels, "harq_cc")
    votes = comparable((), attempt.expected)
    return accumulate(
        attempt,
        Accumulating(
            Terms(
                samples=options.max_rounds,
                temperature=options.temperature,
                stop_at=options.quality_threshold,
                first=1,
                rule=judged_rule(options.weights) if votes else COUNT,
                sure=options.confidence,
                line=LastLine(cue(attempt.expected) if options.answer_cue == "auto" else None),
            ),
            Combining(
                guard=strictness(options.guard, streamed=attempt.request.stream),
                temperature=_WRITING_TEMPERATURE,
                dominance=0.0,
                shuffled=True,
            ),
        ),
    )
