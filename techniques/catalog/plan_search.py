"""Searching over plans: one program as it is asked, and others by an idea each."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import Traits, technique
from techniques.core.task import Task
from techniques.engines.choose import Choosing, choose
from techniques.parts.options import GivenTests, Pool, Temperature
from techniques.phases.attempt import begin
from techniques.phases.trial import suite_for


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many draws, and what the programs in them must pass."""

    num_samples: int = Field(
        4, ge=2, le=8, description="Draws, 2 to 8: one as it is asked, the others by an idea each."
    )
    temperature: Temperature = 0.7
    pool: Pool = "primary"
    tests: GivenTests = None


@technique(
    options=Options,
    traits=Traits(
        family="selection",
        source="Wang et al. 2024, arXiv:2409.03733 (IdeaSearch); Toshniwal et al. 2025, "
        "arXiv:2507.17797 (selection)",
        worst="9; 5 with tests",
        typical="8; 5 with tests",
        avoid="There is one obvious way to do it: ideas then only lead away from it.",
        needs=("judge",),
    ),
)
def plan_search(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Think of other ways, try each, and return what passes the tests or a judge picks."""
    options = task.options
    attempt = begin(task, channels, "plan_search")
    return choose(
        attempt,
        Choosing(
            samples=options.num_samples,
            temperature=options.temperature,
            everyone=options.pool == "all",
            ideas=True,
            tests=suite_for(attempt, options.tests, needed=False),
        ),
    )
