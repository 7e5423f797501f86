"""One model that answers in several ways, and one answer made of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Annotated, Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import COMBINING, Traits, technique
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.engines.synthesise import Synthesising, synthesise
from techniques.parts.options import (
    AnswerCue,
    Dominance,
    GuardOption,
    JsonSynthesis,
    Weights,
    judged_rule,
    strictness,
)
from techniques.parts.variants import Variant, fitting, varied
from techniques.phases.attempt import Attempt, begin
from techniques.phases.branching import Branch
from techniques.phases.combining import Combining

_HOT: Final = 1.0


class Judged(BaseModel, frozen=True, extra="forbid"):
    """How scores count, and what one answer made of several must pass."""

    weights: Weights = "shrunk"
    dominance: Dominance = 0.5
    guard: GuardOption = "auto"
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


class Prompts(Judged, frozen=True, extra="forbid"):
    """In which ways the question is put, and how one answer is made."""

    variants: tuple[Variant, ...] = Field(
        ("identity", "stepwise", "expert", "terse"),
        min_length=2,
        max_length=7,
        description="How the question is put, 2 to 7 ways: as it is (identity, always first), to "
        "be worked out stepwise, as by an expert, tersely (not where the client asks for a long "
        "answer), read twice (reread), restated first (restate_then_solve), planned first "
        "(plan_first).",
    )


class Temperatures(Judged, frozen=True, extra="forbid"):
    """At which temperatures the model answers, and how one answer is made."""

    temperatures: tuple[Annotated[float, Field(ge=0, le=1.3)], ...] = Field(
        (0.3, 0.5, 0.7, 0.9),
        min_length=2,
        max_length=6,
        description="Temperatures of the draws, 2 to 6 of them, each 0 to 1.3. A draw above 1 does "
        "not weigh more than the middle of the others.",
    )


@technique(
    options=Prompts,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (maximal-ratio combining); Li et al. 2022, arXiv:2206.02336 (diverse "
        "prompts); Xu et al. 2023, arXiv:2309.06275 (reread)",
        worst="11; 15 with a judge that must be asked twice each time",
        typical="9",
        avoid="The prompt already says exactly how to go about it; or cost counts.",
        needs=("judge",),
        modality=COMBINING,
    ),
)
def diversity_frequency(task: Task[Prompts], channels: Channels) -> AsyncGenerator[Event, None]:
    """Put the question in several ways and make one answer of what comes of them."""
    attempt = begin(task, channels, "diversity_frequency")
    ways = fitting(task.options.variants, attempt.request)
    branches = [Branch(channels.primary, varied(attempt.request, way)) for way in ways]
    return _synthesised(attempt, branches, task.options)


@technique(
    options=Temperatures,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (maximal-ratio combining); Renze and Guven 2024, arXiv:2402.05201 "
        "(what temperature changes)",
        worst="11; 15 with a judge that must be asked twice each time",
        typical="9",
        avoid="The model's temperature cannot be set; or the task has one right answer: vote.",
        needs=("judge",),
        modality=replace(COMBINING, fixed="plain"),
    ),
)
def diversity_time(task: Task[Temperatures], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw at several temperatures and make one answer of what comes of them."""
    attempt = begin(task, channels, "diversity_time")
    branches = [
        Branch(channels.primary, _at(attempt.request, temperature), hot=temperature > _HOT)
        for temperature in task.options.temperatures
    ]
    return _synthesised(attempt, branches, task.options)


def _synthesised(
    attempt: Attempt, branches: list[Branch], options: Judged
) -> AsyncGenerator[Event, None]:
    return synthesise(
        attempt,
        Synthesising(
            branches,
            Combining(
                guard=strictness(options.guard, streamed=attempt.request.stream),
                dominance=options.dominance,
                by_score=True,
                json=options.json_synthesis,
            ),
            evidence="judge",
            rule=judged_rule(options.weights),
            cue=options.answer_cue == "auto",
        ),
    )


def _at(request: Request, temperature: float) -> Request:
    return replace(request, sampling=replace(request.sampling, temperature=temperature))
