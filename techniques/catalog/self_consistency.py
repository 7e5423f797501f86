"""Self-consistency: several draws, one vote."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final, Literal

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.vote import Voting, vote
from techniques.parts.options import AnswerCue, Pool, Sureness, Temperature
from techniques.parts.stopping import forecast, majority
from techniques.phases.attempt import begin

_WITH_TOOLS: Final = 3


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how different they may be, and when there are enough."""

    num_samples: int = Field(
        5, ge=2, le=40, description="Most draws, 2 to 40; if not set, 3 where tools may be called."
    )
    temperature: Temperature = 0.7
    stop: Literal["forecast", "beta", "exact"] = Field(
        "forecast",
        description="Stop when it is this sure that all draws would end as it stands (forecast), "
        "that the majority is the majority (beta), or when no draw can change it (exact).",
    )
    confidence: Sureness = 0.95
    pool: Pool = "primary"
    answer_cue: AnswerCue = "auto"


@technique(
    options=Options,
    traits=Traits(
        family="voting",
        source="Wang et al. 2022, arXiv:2203.11171; Aggarwal et al. 2023, arXiv:2305.11860",
        worst="5; 7 for prose that no key can be found in",
        typical="3.9",
        avoid="The task is creative or open: there is no one answer that draws could agree on.",
        modality=VOTING,
    ),
    aliases=("adaptive_sc",),
)
def self_consistency(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers and return one that most of them agree with."""
    options = task.options
    attempt = begin(task, channels, "self_consistency")
    unset = "num_samples" not in options.model_fields_set
    few = unset and attempt.expected.kind == "tool"
    return vote(
        attempt,
        Voting(
            samples=_WITH_TOOLS if few else options.num_samples,
            temperature=options.temperature,
            threshold=None if options.stop == "exact" else options.confidence,
            chance=forecast if options.stop == "forecast" else majority,
            everyone=options.pool == "all",
            cue=options.answer_cue == "auto",
        ),
    )
