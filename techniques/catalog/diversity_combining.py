"""Several models, and one answer made of theirs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import COMBINING, Traits, technique
from techniques.core.task import Task
from techniques.engines.synthesise import Synthesising, synthesise
from techniques.parts.options import (
    AnswerCue,
    Dominance,
    GuardOption,
    JsonSynthesis,
    MostModels,
    SoftmaxTemperature,
    Weights,
    confidence_rule,
    judged_rule,
    strictness,
)
from techniques.phases.attempt import Attempt, begin
from techniques.phases.branching import Branch
from techniques.phases.combining import Combining
from techniques.phases.evidence import confidence_source
from techniques.phases.pool import without_others


class MaximalRatio(BaseModel, frozen=True, extra="forbid"):
    """How many models, how their scores count, and who makes one answer of theirs."""

    channels: MostModels = 6
    weights: Weights = "shrunk"
    dominance: Dominance = 0.5
    guard: GuardOption = "auto"
    synth_channel: Literal["best", "judge"] = Field(
        "best",
        description="Who writes the answer: the most accurate model of the pool, the first one "
        "where that was not measured (best), or the judge if there is one (judge).",
    )
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


class EqualGain(BaseModel, frozen=True, extra="forbid"):
    """How many models, and what one answer made of theirs must pass."""

    channels: MostModels = 6
    guard: GuardOption = "cheap"
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


class SureRatio(BaseModel, frozen=True, extra="forbid"):
    """How many models, how confidence counts, and what one answer made of theirs must pass."""

    channels: MostModels = 6
    softmax_temperature: SoftmaxTemperature = None
    dominance: Dominance = 0.5
    guard: GuardOption = "cheap"
    json_synthesis: JsonSynthesis = False
    answer_cue: AnswerCue = "auto"


@technique(
    options=MaximalRatio,
    aliases=("diversity_spatial",),
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (maximal-ratio combining); Jiang et al. 2023, arXiv:2306.02561 "
        "(fusing the answers of several models)",
        worst="2 for each model, and 3; 3 for each with a judge that must be asked twice each time",
        typical="2 for each model, and 1",
        avoid="One of the models is better than the others at everything; or the answer must be "
        "some model's own words.",
        needs=("two models", "judge"),
        modality=COMBINING,
    ),
)
def diversity_mrc(task: Task[MaximalRatio], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask each model once and make one answer of theirs, in which the better judged count more."""
    options = task.options

    def weighed(_attempt: Attempt, plain: Synthesising) -> Synthesising:
        combining = replace(
            plain.combining,
            writer=channels.judge if options.synth_channel == "judge" else None,
            dominance=options.dominance,
            by_score=True,
        )
        rule = judged_rule(options.weights)
        return replace(plain, combining=combining, evidence="judge", rule=rule)

    return _combined(begin(task, channels, "diversity_mrc"), options, weighed)


@technique(
    options=EqualGain,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (equal-gain combining); Jiang et al. 2023, arXiv:2306.02561 "
        "(fusing the answers of several models)",
        worst="1 for each model, and 3",
        typical="1 for each model, and 1",
        avoid="One of the models is clearly weaker: what it says counts as much.",
        needs=("two models",),
        modality=COMBINING,
    ),
)
def diversity_egc(task: Task[EqualGain], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask each model once and make one answer of theirs, in which all count the same."""

    def alike(_attempt: Attempt, plain: Synthesising) -> Synthesising:
        return replace(plain, combining=replace(plain.combining, shuffled=True))

    return _combined(begin(task, channels, "diversity_egc"), task.options, alike)


@technique(
    options=SureRatio,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (maximal-ratio combining); Taubenfeld et al. 2025, arXiv:2502.06233 "
        "(weights by confidence)",
        worst="1 for each model, and 3",
        typical="1 for each model, and 1",
        avoid="One of the models is sure of whatever it says: the others hardly count beside it.",
        needs=("two models", "log-probabilities"),
        modality=COMBINING,
    ),
)
def diversity_mrc_soft(task: Task[SureRatio], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask each model once and make one answer of theirs, in which the surer ones count more."""
    options = task.options

    def weighed(attempt: Attempt, plain: Synthesising) -> Synthesising:
        members = [branch.member for branch in plain.branches]
        source = confidence_source(attempt, "response_probability", members)
        combining = replace(plain.combining, dominance=options.dominance)
        rule = confidence_rule(source, options.softmax_temperature)
        return replace(plain, combining=combining, evidence=source, rule=rule)

    return _combined(begin(task, channels, "diversity_mrc_soft"), options, weighed)


def _combined(
    attempt: Attempt,
    options: MaximalRatio | EqualGain | SureRatio,
    weighed: Callable[[Attempt, Synthesising], Synthesising],
) -> AsyncGenerator[Event, None]:
    """Ask each model once, as the client asks, and make one answer of theirs.

    *weighed* returns a plain synthesis with what the answers weigh by.

    Raises:
        RequestRejected: There is one model, and the caller is strict about it.
    """
    branches = [Branch(one, attempt.request) for one in attempt.channels.pool[: options.channels]]
    if len(branches) < 2:
        return without_others(attempt)
    combining = Combining(
        guard=strictness(options.guard, streamed=attempt.request.stream),
        json=options.json_synthesis,
    )
    plain = Synthesising(branches, combining, cue=options.answer_cue == "auto")
    return synthesise(attempt, weighed(attempt, plain))
