"""Facts of runs and techniques: what is noted beside the calls and requests themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pricing.record import record

LEARNING: Final = "learning"
"""What stands as the dialect of a request that no client made, but the gateway, to learn."""


@dataclass(frozen=True, slots=True)
class StepReplayed:
    """A sub-call was answered from the journal of its run; *saved* picodollars it had cost."""

    model: str
    saved: int


@dataclass(frozen=True, slots=True)
class StepAmbiguous:
    """A sub-call was sent by somebody who is gone, and nobody knows what came of it."""

    model: str


@dataclass(frozen=True, slots=True)
class RunPutAway:
    """A run was suspended at the rate limit of its account."""

    model: str
    provider: str


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run goes on that had stopped. ``cause``: ``name``, ``body``, ``crash``, ``background``."""

    cause: str


@dataclass(frozen=True, slots=True)
class Agreed:
    """A technique has counted votes: which part of them the answer has, 0 to 1."""

    technique: str
    share: float


@record(frozen=True, slots=True)
class MoneyMet:
    """How many picodollars of a budget were held for a sub-call, and how many it cost."""

    model: str
    held: int
    cost: int


@record(frozen=True, slots=True)
class RouterAsked:
    """A router was asked to choose a technique.

    ``router`` is its kind. ``fallback`` is why it was done without, "" where it was not: ``slow``,
    ``gone``, ``unread`` (a request that cannot be read), ``failed`` (a bug). ``encode_s`` is the
    time that the vector took, ``seconds`` all of it. ``masked`` are the techniques that must not
    be chosen, and why: from fixed lists.
    """

    router: str
    technique: str
    explored: bool
    seconds: float
    encode_s: float = 0.0
    fallback: str = ""
    masked: tuple[tuple[str, str], ...] = ()
