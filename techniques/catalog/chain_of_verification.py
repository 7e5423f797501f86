"""Chain of verification: what a draft claims is asked for again by who has not seen it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.verify import Verifying, verify
from techniques.phases.attempt import begin
from techniques.phases.single import collapsed


class Options(BaseModel, frozen=True, extra="forbid"):
    """How many claims to check, and how to act on what comes of it."""

    num_verification_questions: int = Field(3, ge=1, le=8, description="Most questions, 1 to 8.")
    factor_revise: bool = Field(
        default=True,
        description="Compare the answers with the draft in a call of its own, and correct only "
        "what they contradict. Off: the draft is always written again with the answers in view.",
    )


@technique(
    options=Options,
    traits=Traits(
        family="refinement",
        source="Dhuliawala et al. 2023, arXiv:2309.11495 (factored, factor and revise)",
        worst="7; 2 more to judge a correction of a number, a letter, a yes or a few words",
        typical="6",
        avoid="The request is for code or fiction: there are no facts to ask for.",
        modality=MENDING,
    ),
    aliases=("cov",),
)
def chain_of_verification(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draft an answer, ask apart for the facts it stands on, and correct what they contradict."""
    attempt = begin(task, channels, "chain_of_verification")
    if attempt.expected.text == "code":
        attempt.warn("technique_masked", "chain_of_verification: code")
        return collapsed(attempt)
    options = task.options
    questions = options.num_verification_questions
    return verify(attempt, Verifying(questions, compare=options.factor_revise))
