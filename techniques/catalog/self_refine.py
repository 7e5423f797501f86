"""Self-refine: a draft, its faults, a better text."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.attempt import begin
from techniques.engines.refine import AcceptRule, Refining, refine


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many rounds, and what a revision must pass."""

    max_rounds: int = Field(3, ge=1, le=6, description="Most rounds of critique, 1 to 6.")
    accept: AcceptRule = Field(
        "pairwise",
        description="What a revision must pass: preferred side by side in both orders (pairwise), "
        "a clearly higher score (score), or nothing (off, as in the paper).",
    )
    patch: bool = Field(
        default=True,
        description="Mend by replacing only the passage at fault where that is possible.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="refinement",
        source="Madaan et al. 2023, arXiv:2303.17651; limits: Huang et al. 2023, arXiv:2310.01798",
        worst="13; 7 without the accept rule",
        typical="3",
        avoid="The answer is a number, a letter or yes or no: models talk themselves out of right "
        "ones.",
        needs=("judge",),
        modality=MENDING,
    ),
)
def self_refine(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draft an answer, have its faults found, and mend them as long as that makes it better."""
    options = task.options
    return refine(
        begin(task, channels, "self_refine"),
        Refining(rounds=options.max_rounds, accept=options.accept, patch=options.patch),
    )
