"""Mixture of agents: models that answer in view of each other's answers, and one that sums up."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final, Literal

from pydantic import BaseModel, Field

from techniques.core.channel import Channels, Member
from techniques.core.events import Event
from techniques.core.registry import COMBINING, Traits, technique
from techniques.core.task import Task
from techniques.engines.mixture import Mixing, mix
from techniques.parts.options import (
    AnswerCue,
    GuardOption,
    JsonSynthesis,
    MostModels,
    Temperature,
    strictness,
)
from techniques.phases.attempt import Attempt, begin
from techniques.phases.combining import Combining
from techniques.phases.pool import accuracies, of_many, strongest, without_others

_AHEAD: Final = 0.05  # of all others in accuracy: from there on, one model alone does better
_SAMPLES: Final = 3


class Options(BaseModel, frozen=True, extra="forbid"):
    """Who proposes, how often, and what the last answer must pass."""

    num_layers: int = Field(1, ge=1, le=3, description="How often the models answer, 1 to 3.")
    num_proposers: MostModels = 6
    temperature: Temperature = 0.7
    self_moa: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Several answers of the best model in place of one of each: where it is known "
        "to be far more accurate than all others, or alone (auto), always (on), never (off).",
    )
    self_proposers: int = Field(
        _SAMPLES, ge=2, le=8, description="How many answers the best model then gives, 2 to 8."
    )
    proposer_floor: float = Field(
        0.15,
        ge=0,
        le=1,
        description="A model known to be less accurate than the best by more is left out.",
    )
    guard: GuardOption = "post"
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


class SelfOptions(BaseModel, frozen=True, extra="forbid"):
    """How many proposals, and what the answer made of them must pass."""

    num_proposers: int = Field(_SAMPLES, ge=2, le=8, description="How many answers, 2 to 8.")
    temperature: Temperature = 0.7
    critique: bool = Field(
        default=False, description="A critic reads all proposals first, and is heard."
    )
    guard: GuardOption = "post"
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


@technique(
    options=Options,
    traits=Traits(
        family="mixture",
        source="Wang et al. 2024, arXiv:2406.04692; one model alone: Li et al. 2025, "
        "arXiv:2502.00674",
        worst="1 for each model and layer, and 1; 2 more with guard full",
        typical="1 for each model, and 1",
        avoid="The models are unequal: the best one alone does better (self_moa); or answers must "
        "be short.",
        needs=("two models",),
        modality=COMBINING,
    ),
    aliases=("moa",),
)
def mixture_of_agents(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Have each model answer, in layers if wanted, and one of them sum up all the answers."""
    options = task.options
    attempt = begin(task, channels, "mixture_of_agents")
    proposers = _proposers(attempt, options)
    if len(proposers) < 2:
        return without_others(attempt)
    return mix(
        attempt,
        Mixing(
            proposers,
            options.num_layers,
            options.temperature,
            _aggregating(attempt, options),
            cue=options.answer_cue == "auto",
        ),
    )


@technique(
    options=SelfOptions,
    traits=Traits(
        family="mixture",
        source="Li et al. 2025, arXiv:2502.00674",
        worst="5 with critique, else 4; 2 more with guard full",
        typical="4",
        avoid="Other models know what this one does not; or answers must be short.",
        modality=COMBINING,
    ),
)
def self_moa(task: Task[SelfOptions], channels: Channels) -> AsyncGenerator[Event, None]:
    """Have the best model answer several times and sum up its answers."""
    options = task.options
    attempt = begin(task, channels, "self_moa")
    return mix(
        attempt,
        Mixing(
            [_best(attempt)] * options.num_proposers,
            1,
            options.temperature,
            replace(_aggregating(attempt, options), critique=options.critique),
            cue=options.answer_cue == "auto",
        ),
    )


def _proposers(attempt: Attempt, options: Options) -> list[Member]:
    """Return who answers: the models that are good enough, or several times the best one."""
    pool = attempt.channels.pool[: options.num_proposers]
    known = accuracies(attempt, attempt.channels.pool)
    best = _best(attempt)
    others = [known.get(member.id, 1.0) for member in pool if member is not best]
    far_ahead = bool(known) and all(known[best.id] - other > _AHEAD for other in others)
    if len(pool) == 1 and options.self_moa != "off":
        of_many(attempt)
    if options.self_moa == "on" or (options.self_moa == "auto" and (far_ahead or not others)):
        return [best] * options.self_proposers
    floor = known.get(best.id, 0.0) - options.proposer_floor
    return [member for member in pool if known.get(member.id, 1.0) >= floor]


def _best(attempt: Attempt) -> Member:
    return strongest(attempt) or attempt.channels.primary


def _aggregating(attempt: Attempt, options: Options | SelfOptions) -> Combining:
    return Combining(
        guard=strictness(options.guard, streamed=attempt.request.stream),
        intent="aggregate",
        temperature=None,
        json=options.json_synthesis,
        middle=True,
    )
