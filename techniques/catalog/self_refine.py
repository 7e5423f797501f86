"""Self-refine: a draft, its faults, a better text."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.refine import Refining, refine
from techniques.parts.options import EarlyStop, Patch
from techniques.phases.attempt import begin
from techniques.phases.faultfinding import Faultfinding
from techniques.phases.incumbent import AcceptRule
from techniques.phases.single import collapsed

_NEXT_TO_NOTHING: Final = 0.01  # of the words
_TALKED_OUT_OF: Final = frozenset({"letter", "number", "yes_no"})


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many rounds, and what a revision must pass."""

    max_rounds: int = Field(3, ge=1, le=6, description="Most rounds of critique, 1 to 6.")
    accept: AcceptRule = Field(
        "pairwise",
        description="What a revision must pass: preferred side by side in both orders (pairwise), "
        "a clearly higher score (score), or nothing (off, as in the paper).",
    )
    early_stop: EarlyStop = True
    patch: Patch = True


@technique(
    options=Options,
    traits=Traits(
        family="refinement",
        source="Madaan et al. 2023, arXiv:2303.17651; limits: Huang et al. 2023, arXiv:2310.01798",
        worst="13; 7 without the accept rule; 1 more a round for a critique or a form that must be "
        "asked for twice",
        typical="3",
        avoid="The answer is a number, a letter or yes or no: models talk themselves out of right "
        "ones.",
        needs=("judge",),
        modality=MENDING,
    ),
)
def self_refine(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draft an answer, have its faults found, and mend them as long as that makes it better.

    Without the accept rule a number, a letter or a yes is asked for plainly: there is nothing to
    tell a right one from what a model makes of it when it is told to look for faults.
    """
    options = task.options
    attempt = begin(task, channels, "self_refine")
    if options.accept == "off" and attempt.expected.text in _TALKED_OUT_OF:
        attempt.warn("technique_masked", f"self_refine: accept=off, {attempt.expected.text}")
        return collapsed(attempt)
    return refine(
        attempt,
        Refining(
            rounds=options.max_rounds,
            accept=options.accept,
            looking=Faultfinding(early_stop=options.early_stop),
            patch=options.patch,
            least=_NEXT_TO_NOTHING,
        ),
    )
