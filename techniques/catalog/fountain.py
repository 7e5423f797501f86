"""Rateless: draw for as long as a question needs it, then read the answer off what was drawn."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.accumulate import Accumulating, accumulate
from techniques.parts.cue import LastLine, cue
from techniques.parts.options import (
    AnswerCue,
    ExpectedImprovement,
    GuardOption,
    SoftmaxTemperature,
    Stop,
    StopAt,
    Sureness,
    confidence_rule,
    strictness,
    threshold,
)
from techniques.parts.stopping import SURENESS_SPREAD
from techniques.phases.attempt import Attempt, begin
from techniques.phases.combining import Combining
from techniques.phases.contest import Terms

_LADDER: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
_JUDGED_PRICE: Final = 2.0  # plain calls: a draw, and the judge's call
_DRAWN_PRICE: Final = 1.0
_SOURCE: Final = "Luby 2002 (LT codes: rateless erasure codes); "

_MostDraws: TypeAlias = Annotated[int, Field(ge=2, le=32, description="Most draws, 2 to 32.")]
_FirstDraws: TypeAlias = Annotated[
    int, Field(ge=2, le=8, description="How many to draw at once at first, 2 to 8.")
]
_Ladder: TypeAlias = Annotated[
    tuple[Annotated[float, Field(ge=0, le=1.3)], ...],
    Field(
        min_length=1,
        max_length=8,
        description="Temperatures of the draws after the first in turn, each 0 to 1.3; all further "
        "ones have the last.",
    ),
]
_EscalateAfter: TypeAlias = Annotated[
    int,
    Field(
        ge=1,
        le=32,
        description="Draws that the first model makes before the others of the pool take turns: "
        "more from one model do not mend what it always gets wrong.",
    ),
]


class Judged(BaseModel, frozen=True, extra="forbid"):
    """How many draws, when there are enough, and what then becomes of them."""

    max_samples: _MostDraws = 8
    min_samples: _FirstDraws = 2
    temperatures: _Ladder = _LADDER
    escalate_after: _EscalateAfter = 4
    stop: Stop = "beta"
    confidence: Sureness = 0.95
    stop_at: StopAt = 0.90
    expected_improvement: ExpectedImprovement = True
    erasure_band: float = Field(
        0.10,
        ge=0,
        le=1,
        description="An answer whose score is so far below the best is left out, 0 to 1.",
    )
    dominance_gap: float = Field(
        0.20,
        ge=0,
        le=1,
        description="The best answer is given as it is if its score is so far ahead, 0 to 1.",
    )
    guard: GuardOption = "full"
    answer_cue: AnswerCue = "auto"


class Sure(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how confidence counts, and what becomes of them when there are enough."""

    max_samples: _MostDraws = 8
    min_samples: _FirstDraws = 2
    temperatures: _Ladder = _LADDER
    escalate_after: _EscalateAfter = 4
    stop: Stop = "exact"
    confidence: Sureness = 0.95
    softmax_temperature: SoftmaxTemperature = None
    expected_improvement: ExpectedImprovement = True
    erasure_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="An answer whose tokens are less likely than this share of the best's is left "
        "out, 0 to 1.",
    )
    dominance_gap: float = Field(
        0.5,
        ge=0,
        le=5,
        description="The best answer is given as it is if its mean log-probability is so far "
        "ahead, 0 to 5.",
    )
    guard: GuardOption = "full"
    answer_cue: AnswerCue = "auto"


@technique(
    options=Judged,
    traits=Traits(
        family="rateless",
        source=_SOURCE + "Aggarwal et al. 2023, arXiv:2305.11860 (adaptive consistency)",
        worst="8, or 10 for short answers given at length; 19 for prose, 27 with a judge that must "
        "be asked twice each time",
        typical="5",
        avoid="All models of the pool err alike: more draws only make the error look sure.",
        needs=("judge",),
        modality=VOTING,
    ),
)
def fountain(task: Task[Judged], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw until the answer is clear: by a vote, or by scores where answers cannot be compared."""
    return _judged(begin(task, channels, "fountain"), task.options)


@technique(
    options=Sure,
    traits=Traits(
        family="rateless",
        source=_SOURCE + "Taubenfeld et al. 2025, arXiv:2502.06233 (weights by confidence)",
        worst="8, or 10 for short answers given at length; 11 for prose; without token "
        "probabilities as fountain",
        typical="6",
        avoid="The model is as sure of its wrong answers as of its right ones.",
        needs=("log-probabilities",),
        modality=VOTING,
    ),
)
def fountain_soft(task: Task[Sure], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw until the answer is clear by how likely the models find their own words."""
    options = task.options
    attempt = begin(task, channels, "fountain_soft")
    if not any(member.capabilities.logprobs for member in channels.pool):
        attempt.warn("confidence_unavailable", "fountain_soft: done as fountain")
        shared = options.model_dump(include=options.model_fields_set & Judged.model_fields.keys())
        shared.pop("dominance_gap", None)  # of a score, and not of a logarithm
        return _judged(attempt, Judged(**shared))
    return accumulate(
        attempt,
        Accumulating(
            Terms(
                samples=options.max_samples,
                temperature=options.temperatures,
                price=_DRAWN_PRICE if options.expected_improvement else None,
                noise=SURENESS_SPREAD,
                turns=options.escalate_after,
                first=options.min_samples,
                sparing=True,
                evidence="response_probability",
                rule=confidence_rule("response_probability", options.softmax_temperature),
                sure=threshold(options.stop, options.confidence),
                line=_line(attempt, options.answer_cue),
            ),
            _anchored(attempt, options.guard),
            gap=options.dominance_gap,
            band=-math.log(options.erasure_share) if options.erasure_share else math.inf,
            nats=True,
        ),
    )


def _judged(attempt: Attempt, options: Judged) -> AsyncGenerator[Event, None]:
    return accumulate(
        attempt,
        Accumulating(
            Terms(
                samples=options.max_samples,
                temperature=options.temperatures,
                stop_at=options.stop_at,
                price=_JUDGED_PRICE if options.expected_improvement else None,
                turns=options.escalate_after,
                first=options.min_samples,
                sparing=True,
                sure=threshold(options.stop, options.confidence),
                line=_line(attempt, options.answer_cue),
            ),
            _anchored(attempt, options.guard),
            gap=options.dominance_gap,
            band=options.erasure_band,
        ),
    )


def _line(attempt: Attempt, wanted: AnswerCue) -> LastLine:
    return LastLine(cue(attempt.expected) if wanted == "auto" else None)


def _anchored(attempt: Attempt, guard: GuardOption) -> Combining:
    guarded = strictness(guard, streamed=attempt.request.stream)
    return Combining(guard=guarded, intent="anchor", dominance=0.0)
