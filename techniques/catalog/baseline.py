"""The plain call: the reference for all others, and what they fall back to."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.phases.single import single


class Options(BaseModel, frozen=True, extra="forbid"):
    """What to do when the model does not answer."""

    failover: bool = Field(
        default=True, description="Ask the next model of the pool when one fails before it begins."
    )


@technique(
    options=Options,
    traits=Traits(
        family="reference",
        source="none",
        worst="1 (one more for each model that fails)",
        typical="1",
        avoid="One answer is not reliable enough and you can pay for more.",
    ),
)
def baseline(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Ask once and pass the answer on as it comes."""
    return single(task, channels, failover=task.options.failover)
