"""Weighted best of N: several draws, a judge's score for each, and a vote that weighs by it."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import VOTING, Traits, technique
from techniques.core.task import Task
from techniques.engines.vote import Voting, vote
from techniques.parts.options import JudgedVote, judged_rule, threshold
from techniques.phases.attempt import begin


@technique(
    options=JudgedVote,
    traits=Traits(
        family="voting",
        source="Snell et al. 2024, arXiv:2408.03314 (best-of-N weighted)",
        worst="10; 17 for prose with a judge that must be asked twice each time",
        typical="8",
        avoid="No judge is better than the model itself: a plain vote costs half and is as good.",
        needs=("judge",),
        modality=VOTING,
    ),
    aliases=("weighted_best_of_n",),
)
def weighted_bon(task: Task[JudgedVote], channels: Channels) -> AsyncGenerator[Event, None]:
    """Draw several answers, have each one judged, and return one of the answer of most weight."""
    options = task.options
    return vote(
        begin(task, channels, "weighted_bon"),
        Voting(
            samples=options.num_samples,
            temperature=options.temperature,
            threshold=threshold(options.stop, options.confidence),
            cue=options.answer_cue == "auto",
            evidence="judge",
            rule=judged_rule(options.weights),
        ),
    )
