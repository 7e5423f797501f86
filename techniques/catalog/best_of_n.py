"""Best of N: several draws, and a judge's choice."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final, Literal

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import SELECTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.select import select
from techniques.parts.options import (
    ExpectedImprovement,
    GivenTests,
    MostSamples,
    Pairwise,
    StopAt,
    Temperature,
)
from techniques.phases.attempt import begin
from techniques.phases.contest import Terms
from techniques.phases.trial import suite_for

_PRICE: Final = 2.0  # plain calls: a draw, and the judge's call


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how different they may be, and when one is good enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    stop_at: StopAt = 0.90
    expected_improvement: ExpectedImprovement = True
    pairwise: Pairwise = True
    tests: GivenTests = None
    score: Literal["judge", "logprob"] = Field(
        "judge",
        description="What tells how good an answer is: a judge, or how likely the model found its "
        "own tokens in the mean (logprob). The latter costs nothing; all draws are then made, and "
        "stop_at, expected_improvement and pairwise have no part in it.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="selection",
        source="Cobbe et al. 2021, arXiv:2110.14168; Lightman et al. 2023, arXiv:2305.20050; "
        "Adiwardana et al. 2020, arXiv:2001.09977 (by likelihood)",
        worst="12; 17 with a judge that must be asked twice each time; 5 by logprob",
        typical="7.5",
        avoid="Answers can be compared exactly (a number, a letter): voting is cheaper and surer.",
        needs=("judge",),
        modality=SELECTING,
    ),
)
def best_of_n(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers, have each one judged or its program tested, and return the best."""
    options = task.options
    attempt = begin(task, channels, "best_of_n")
    judged = Terms(
        samples=options.num_samples,
        temperature=options.temperature,
        stop_at=options.stop_at,
        price=_PRICE if options.expected_improvement else None,
        tests=suite_for(attempt, options.tests, needed=False),
    )
    if options.score == "judge":
        return select(attempt, judged, pairwise=options.pairwise)
    if not channels.primary.capabilities.logprobs:
        attempt.warn("confidence_source_changed", "logprob -> judge")
        return select(attempt, judged, pairwise=options.pairwise)
    likely = replace(
        judged,
        stop_at=math.inf,
        price=None,
        first=options.num_samples,
        evidence="response_probability",
    )
    return select(attempt, likely, pairwise=False)
