"""Forward error correction: a fixed number of parities beside one answer, and one decoding.

The names are labels. One answer and m parities have the rate 1 / (1 + m): 0.5, 0.33, 0.25 and 0.2.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, Field

from techniques.core.channel import Channels
from techniques.core.events import Event
from techniques.core.registry import MENDING, Traits, technique
from techniques.core.task import Task
from techniques.engines.parity import Coding, Decode, protect
from techniques.parts.options import GuardOption, strictness
from techniques.phases.attempt import begin


class Options(BaseModel, frozen=True, extra="forbid"):
    """How the answer is decoded, and how a correction is guarded."""

    decode: Decode = Field(
        "auto",
        description="Vote on results that can be compared exactly (auto), or have a model compare "
        "all the same (llm).",
    )
    guard: GuardOption = "cheap"


def _traits(worst: str, typical: str) -> Traits:
    return Traits(
        family="parity",
        source="Hamming 1950 (parity and syndrome); Dhuliawala et al. 2023, arXiv:2309.11495 "
        "(checks that have not seen the answer)",
        worst=worst,
        typical=typical,
        avoid="The parities come from the same model and it is wrong in the same way each time: "
        "they agree with the error.",
        modality=replace(MENDING, json="plain"),
    )


_MORE: Final = "; 1 more where a conflict cannot be corrected in place, 2 more with guard full"


@technique(name="fec_0.75", options=Options, traits=_traits(f"3{_MORE}", "2 to 3"))
def fec_0_75(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Answer, have it worked out again at the same time, and correct what that contradicts."""
    return _protected(task, channels, "fec_0.75", (1, 0))


@technique(name="fec_0.50", options=Options, traits=_traits(f"4{_MORE}", "2 to 4"))
def fec_0_50(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Answer, have it worked out again and checked, and correct what that contradicts."""
    return _protected(task, channels, "fec_0.50", (1, 1))


@technique(name="fec_0.33", options=Options, traits=_traits(f"5{_MORE}", "3 to 5"))
def fec_0_33(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Answer, have it worked out in two other ways and checked, and correct what contradicts it."""
    return _protected(task, channels, "fec_0.33", (2, 1))


@technique(name="fec_0.25", options=Options, traits=_traits(f"6{_MORE}", "3 to 6"))
def fec_0_25(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
    """Answer, have it worked out in two other ways and checked twice, and correct it by that."""
    return _protected(task, channels, "fec_0.25", (2, 2))


def _protected(
    task: Task[Options], channels: Channels, name: str, parities: tuple[int, int]
) -> AsyncGenerator[Event, None]:
    blind, checks = parities
    options = task.options
    attempt = begin(task, channels, name)
    guard = strictness(options.guard, streamed=attempt.request.stream)
    return protect(attempt, Coding(blind, checks, options.decode, guard))
