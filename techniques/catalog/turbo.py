"""Turbo: a generator and a critic in turn, the critic with another eye each time, and damped."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.refine import Refining, refine
from techniques.parts.critique import Lens
from techniques.parts.options import Accept, EarlyStop, Floor, Patch, Threshold
from techniques.phases.attempt import Attempt, begin
from techniques.phases.faultfinding import Faultfinding

_LENSES: Final[tuple[Lens, ...]] = ("correctness", "completeness", "logic", "clarity")


class Options(BaseModel, frozen=True, extra="forbid"):
    """When a draft is good enough, and how much of a critique is passed on."""

    max_iterations: int = Field(
        5, ge=1, le=8, description="Most iterations, the draft's included, 1 to 8."
    )
    quality_threshold: Threshold = 0.85
    accept: Accept = "pairwise"
    alpha: float = Field(
        0.5,
        gt=0.0,
        le=1.0,
        description="Which share of the faults found, the gravest, is passed on, 0 to 1. A "
        "rejected revision halves it, an accepted one raises it again.",
    )
    severity_floor: Floor = "major"
    max_corrections: int = Field(
        2, ge=1, le=5, description="Most faults to mend in an iteration, 1 to 5."
    )
    early_exit: EarlyStop = True
    patch: Patch = True


@technique(
    options=Options,
    traits=Traits(
        family="retransmission",
        source="Berrou, Glavieux, Thitimajshima 1993 (extrinsic information); Madaan et al. 2023, "
        "arXiv:2303.17651; limits: Huang et al. 2023, arXiv:2310.01798",
        worst="18; 1 more an iteration for a critique or a form that must be asked for twice",
        typical="6",
        avoid="The models are small: their critiques make a text worse more often than better.",
        needs=("judge",),
        modality=MENDING,
    ),
)
def turbo(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draft an answer and, unless it scores well, mend it by what a critic sees from each side."""
    options = task.options
    attempt = begin(task, channels, "turbo")
    return refine(
        attempt,
        Refining(
            rounds=options.max_iterations - 1,
            accept=options.accept,
            looking=Faultfinding(
                most=options.max_corrections,
                floor=options.severity_floor,
                early_stop=options.early_exit,
                other=True,
                lenses=_lenses(attempt),
                share=options.alpha,
            ),
            patch=options.patch,
            threshold=options.quality_threshold,
        ),
    )


def _lenses(attempt: Attempt) -> tuple[Lens, ...]:
    """Return what to look at in turn; limits of form only where the request sets some."""
    formed = attempt.request.response_format is not None or not attempt.expected.free
    return (*_LENSES, "constraints") if formed else _LENSES
