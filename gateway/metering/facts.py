"""Facts of runs and techniques: what is noted beside the calls and requests themselves."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class MoneyMet:
    """How many picodollars of a budget were held for a sub-call, and how many it cost."""

    model: str
    held: int
    cost: int
