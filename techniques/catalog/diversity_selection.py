"""Several models, and a judge that selects one of their answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import SELECTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.select import select
from techniques.parts.options import (
    ExpectedImprovement,
    MostModels,
    MostSamples,
    Pairwise,
    StopAt,
    Temperature,
)
from techniques.phases.attempt import begin
from techniques.phases.contest import Terms
from techniques.phases.pool import of_many, without_others

_PRICE: Final = 2.0  # plain calls: a draw, and the judge's call


class OncePerModel(BaseModel, frozen=True, extra="forbid"):
    """How many models, and what to do when two are as good."""

    channels: MostModels = 6
    pairwise: Pairwise = True


class Selection(BaseModel, frozen=True, extra="forbid"):
    """How many draws, how different they may be, and when one is good enough."""

    num_samples: MostSamples = 5
    temperature: Temperature = 0.7
    stop_at: StopAt = 0.90
    expected_improvement: ExpectedImprovement = True
    pairwise: Pairwise = True


@technique(
    options=OncePerModel,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (selection combining); Jiang et al. 2023, arXiv:2306.02561 (ranking "
        "the answers of several models)",
        worst="2 for each model, and 2",
        typical="2 for each model",
        avoid="One of the models is better than the others at everything: ask that one.",
        needs=("two models", "judge"),
        modality=SELECTING,
    ),
)
def diversity_sc(task: Task[OncePerModel], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask each model once, have the answers judged, and return the best."""
    attempt = begin(task, channels, "diversity_sc")
    models = min(len(channels.pool), task.options.channels)
    if models < 2:
        return without_others(attempt)
    return select(
        attempt,
        Terms(samples=models, temperature=None, turns=0, first=models),
        pairwise=task.options.pairwise,
    )


@technique(
    options=Selection,
    traits=Traits(
        family="diversity",
        source="Brennan 1959 (selection combining); Cobbe et al. 2021, arXiv:2110.14168",
        worst="12; 17 with a judge that must be asked twice each time",
        typical="7.5",
        avoid="Answers can be compared exactly (a number, a letter): voting is cheaper and surer.",
        needs=("two models", "judge"),
        modality=SELECTING,
    ),
)
def diversity_sc_N(  # noqa: N802 - the name is the interface
    task: Task[Selection], channels: Channels
) -> AsyncGenerator[Event, None]:
    """Draw several answers from the models in turn, have each one judged, and return the best."""
    options = task.options
    return select(
        of_many(begin(task, channels, "diversity_sc_N")),
        Terms(
            samples=options.num_samples,
            temperature=options.temperature,
            stop_at=options.stop_at,
            price=_PRICE if options.expected_improvement else None,
            turns=0,
        ),
        pairwise=options.pairwise,
    )
