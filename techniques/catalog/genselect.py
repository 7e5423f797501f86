"""Generative selection: several draws, and a judge that sees them all at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.engines.choose import Choosing, choose
from techniques.parts.options import Pool, Temperature
from techniques.phases.attempt import begin


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, and how different they may be."""

    num_samples: int = Field(4, ge=2, le=12, description="Draws, all at once, 2 to 12.")
    temperature: Temperature = 0.7
    pool: Pool = "primary"


@technique(
    options=Options,
    traits=Traits(
        family="selection",
        source="Toshniwal et al. 2025, arXiv:2507.17797; order: Zheng et al. 2023, "
        "arXiv:2306.05685",
        worst="8",
        typical="7",
        avoid="Answers are so long that a judge loses the thread with several before it, or can be "
        "compared exactly (a number, a letter): voting is cheaper and surer.",
        needs=("judge",),
    ),
)
def genselect(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers at once and return the one that a judge picks among all of them."""
    options = task.options
    return choose(
        begin(task, channels, "genselect"),
        Choosing(
            samples=options.num_samples,
            temperature=options.temperature,
            everyone=options.pool == "all",
        ),
    )
