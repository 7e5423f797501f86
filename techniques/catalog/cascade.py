"""Cascade: the cheap model's answer where it can be trusted, else the stronger model's."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.engines.cascade import Agree, Cascading, Check, climb
from techniques.parts.options import Temperature
from techniques.phases.attempt import begin


class Options(BaseModel, frozen=True, extra="forbid"):
    """What a cheap answer must have to be taken."""

    tau: float = Field(
        0.7, ge=0, le=1, description="How sure of its answer a model must be, 0 to 1."
    )
    check: Check = Field(
        "auto",
        description="Confidence: a second question whether the answer is right (p_true, one more "
        "token), or how likely its tokens are for this model (probabilities). auto: these if that "
        "was measured, else p_true.",
    )
    agree: Agree = Field(
        "off",
        description="Take an answer if two agree instead: two of the same model (self), or those "
        "of two models of the pool but the last (pool). A model without log-probabilities is "
        "always asked twice.",
    )
    temperature: Temperature = 0.7


@technique(
    options=Options,
    traits=Traits(
        family="cascade",
        source="Chen et al. 2023, arXiv:2305.05176 (FrugalGPT); Aggarwal et al. 2023, "
        "arXiv:2310.12963 (AutoMix)",
        worst="3; 2 more for each model beyond two",
        typical="2",
        avoid="Most questions are too hard for the cheap model: each of them is then paid twice.",
        needs=("two models", "log-probabilities"),
    ),
)
def cascade(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask the models in turn, cheapest first, until an answer can be trusted."""
    options = task.options
    return climb(
        begin(task, channels, "cascade"),
        Cascading(options.tau, options.check, options.agree, options.temperature),
    )
