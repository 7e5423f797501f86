"""Effort up: the same model, thinking harder."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.parts.effort import Effort, raised
from techniques.phases.single import single


class Options(BaseModel, frozen=True, extra="forbid"):
    """How hard to think."""

    effort: Effort | None = Field(
        None,
        description="How hard to think. Unset: one step harder than asked for, up to `high`; a "
        "budget of tokens is doubled; `high` where nothing was asked for.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="single call",
        source="Snell et al. 2024, arXiv:2408.03314 (more thought instead of more answers)",
        worst="1 (one more for each model that fails)",
        typical="1",
        avoid="The model does not reason before it answers: its provider may refuse the wish.",
        needs=("a reasoning model",),
    ),
)
def effort_up(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask once, and have the model think harder than the request does."""
    request = task.request.decoded()
    harder = replace(request, thinking=raised(request.thinking, task.options.effort))
    return single(replace(task, request=harder), channels)
