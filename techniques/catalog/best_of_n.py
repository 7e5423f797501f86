"""Best of N: several draws, and a judge's choice."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.engines.attempt import begin
from techniques.engines.select import Selecting, select

_PRICE: Final = 2.0  # plain calls: a draw, and the judge's call


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how different they may be, and when one is good enough."""

    num_samples: int = Field(5, ge=2, le=16, description="Most draws, 2 to 16.")
    temperature: float = Field(
        0.7, ge=0.3, le=1.2, description="Temperature of all draws but the first, 0.3 to 1.2."
    )
    stop_at: float = Field(
        0.90, ge=0.5, le=1.0, description="A score that is good enough to stop at, 0.5 to 1."
    )
    expected_improvement: bool = Field(
        default=True, description="Stop when one more draw is not expected to be worth its cost."
    )
    pairwise: bool = Field(
        default=True,
        description="Compare the best two side by side when their scores are about equal.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="selection",
        source="Cobbe et al. 2021, arXiv:2110.14168; Lightman et al. 2023, arXiv:2305.20050",
        worst="12; 17 with a judge that must be asked twice each time",
        typical="7.5",
        avoid="Answers can be compared exactly (a number, a letter): voting is cheaper and surer.",
        needs=("judge",),
    ),
)
def best_of_n(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers, have each one judged, and return the best."""
    options = task.options
    return select(
        begin(task, channels, "best_of_n"),
        Selecting(
            samples=options.num_samples,
            temperature=options.temperature,
            stop_at=options.stop_at,
            price=_PRICE if options.expected_improvement else None,
            pairwise=options.pairwise,
        ),
    )
