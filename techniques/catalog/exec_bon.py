"""Best of N by execution: draw programs until one passes the tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import SELECTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.select import select
from techniques.parts.options import GivenTests, Temperature
from techniques.phases.attempt import begin
from techniques.phases.contest import Terms
from techniques.phases.trial import suite_for

_JUDGED_SAMPLES: Final = 5  # without tests a judge selects, as in ``best_of_n``
_STOP_AT: Final = 0.90
_PRICE: Final = 2.0


class Options(BaseModel, frozen=True, extra="forbid"):
    """What a program must pass, how many draws it may take, and how different they may be."""

    tests: GivenTests = None
    num_samples: int = Field(8, ge=2, le=8, description="Most draws, two at a time, 2 to 8.")
    temperature: Temperature = 0.7


@technique(
    options=Options,
    traits=Traits(
        family="selection",
        source="Chen et al. 2021, arXiv:2107.03374; Brown et al. 2024, arXiv:2407.21787 (coverage)",
        worst="8; without tests 12, or 17 with a judge that must be asked twice each time",
        typical="2; without tests 7.5",
        avoid="There are no tests, or the few there are let wrong programs pass.",
        needs=("tests", "sandbox"),
        modality=SELECTING,
    ),
)
def exec_bon(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw programs until one passes the tests; without any, have a judge select one."""
    options = task.options
    attempt = begin(task, channels, "exec_bon")
    tests = suite_for(attempt, options.tests, needed=True)
    most = options.num_samples
    return select(
        attempt,
        Terms(
            samples=most if tests else min(most, _JUDGED_SAMPLES),
            temperature=options.temperature,
            stop_at=_STOP_AT,
            price=_PRICE,
            tests=tests,
        ),
    )
