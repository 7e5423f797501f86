"""HARQ with incremental redundancy: each round asks for new corrections, and only for those."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event, Note, Warned
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.refine import Refining, refine
from techniques.parts.options import Accept, EarlyStop, Floor, Patch, Threshold
from techniques.phases.attempt import begin
from techniques.phases.faultfinding import Faultfinding


class Options(BaseModel, frozen=True, extra="forbid"):
    """When a draft is good enough, what is mended in it, and when that is no longer worth it."""

    max_rounds: int = Field(5, ge=1, le=8, description="Most rounds, the draft's included, 1 to 8.")
    quality_threshold: Threshold = 0.85
    accept: Accept = "pairwise"
    early_exit: EarlyStop = True
    max_items: int = Field(5, ge=1, le=5, description="Most faults to mend in a round, 1 to 5.")
    severity_floor: Floor = "minor"
    patch: Patch = True
    plateau_window: int = Field(
        2, ge=1, le=8, description="Stop after so many accepted revisions in a row, 1 to 8, ..."
    )
    plateau_eps: float = Field(
        0.015,
        ge=0.0,
        le=0.5,
        description="... that each changed less than this share of the words, 0 to 0.5.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="retransmission",
        source="Mandelbaum 1974, IEEE Trans. Inf. Theory 20(3) (incremental redundancy); Madaan et "
        "al. 2023, arXiv:2303.17651; limits: Huang et al. 2023, arXiv:2310.01798",
        worst="18; 1 more a round for a critique or a form that must be asked for twice",
        typical="4",
        avoid="Answers are short: there is little to mend, and drawing again is cheaper.",
        needs=("judge",),
        modality=MENDING,
    ),
)
async def harq_ir(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draft an answer and, unless it scores well, mend it by corrections that a critic adds."""
    options = task.options
    settings = Refining(
        rounds=options.max_rounds - 1,
        accept=options.accept,
        looking=Faultfinding(
            most=options.max_items,
            floor=options.severity_floor,
            early_stop=options.early_exit,
            other=True,
        ),
        patch=options.patch,
        threshold=options.quality_threshold,
        window=options.plateau_window,
        least=options.plateau_eps,
    )
    async with aclosing(refine(begin(task, channels, "harq_ir"), settings)) as events:
        async for event in events:
            yield event
            if isinstance(event, Note) and event.topic == "rounds" and (told := _told(event)):
                yield told


def _told(rounds: Note) -> Warned | None:
    """Return the warning that the *rounds* ended before the threshold was known to be reached."""
    detail = f"{rounds.data['accepted']} of {rounds.data['used']} revisions were accepted."
    match rounds.data["ended"]:
        case "converged":
            return Warned("harq_ir_converged", detail)
        case "plateau":
            return Warned("harq_ir_plateau", detail)
        case "rejected_twice":
            return Warned("harq_ir_rejected_twice", detail)
        case _:
            return None
