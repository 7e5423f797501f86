"""What a technique is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from random import Random
from typing import Generic, Literal, Protocol, TypeVar

from pricing.record import record
from techniques.core.json import Json
from techniques.core.request import Request

OptionsT = TypeVar("OptionsT")


class Allowance(Protocol):
    """What is left of the caps over a whole run."""

    def affordable(self, calls: int) -> int:
        """Return how many of *calls* further sub-calls still fit, 0 to *calls*."""
        ...


class Unlimited:
    """No caps."""

    def affordable(self, calls: int) -> int:
        """Return *calls*."""
        return calls


@record(frozen=True, slots=True)
class Ran:
    """What a program did. ``ended`` tells how, ``out`` and ``err`` what it wrote (cut if long).

    ``ok``: it ended by itself with status 0; ``failed``: with another, or by a signal;
    ``timeout``: it was stopped; ``unavailable``: it could not be run at all.
    """

    ended: Literal["ok", "failed", "timeout", "unavailable"]
    out: str = ""
    err: str = ""


class Sandbox(Protocol):
    """Where code that a model wrote can be run without harm."""

    async def run(self, program: str) -> Ran:
        """Run the Python *program* and return what it did. It never raises for what that does."""
        ...


class Calibration(Protocol):
    """What is known, from measurement, of how often models are right."""

    def accuracy(self, model: str, kind: str) -> float | None:
        """Return which share of answers of *kind* (``number``, ``letter`` ...) *model* has right.

        *model* is the operator's name for it. None if it was not measured.
        """
        ...

    def ahead(self, model: str, other: str, kind: str) -> float | None:
        """Return how often *model* is the right one where just one of it and *other* is right.

        A share, above 0 and below 1, of questions with answers of *kind*. None if it was not
        measured.
        """
        ...

    def rank(self, model: str, sureness: float) -> float | None:
        """Return which share, 0 to 1, of the answers of *model* it was less sure of than this.

        *sureness* is the geometric mean of an answer's token probabilities, which means different
        things with different models. None if that was not measured.
        """
        ...

    def odds(self, judge: str, kind: str, score: float) -> float | None:
        """Return what *score* by *judge* makes of the odds that an answer of *kind* is right.

        As a share of what its best score makes of them, above 0 and at most 1. None if that was
        not measured.
        """
        ...


class Uncalibrated:
    """Nothing is known."""

    def accuracy(self, model: str, kind: str) -> float | None:
        """Return None."""
        del model, kind
        return None

    def ahead(self, model: str, other: str, kind: str) -> float | None:
        """Return None."""
        del model, other, kind
        return None

    def rank(self, model: str, sureness: float) -> float | None:
        """Return None."""
        del model, sureness
        return None

    def odds(self, judge: str, kind: str, score: float) -> float | None:
        """Return None."""
        del judge, kind, score
        return None


@record(frozen=True, slots=True)
class Task(Generic[OptionsT]):
    """One request, the technique's own options, seeded dice and what may be spent.

    ``deadline`` is a time of ``anyio.current_time()`` by which the last sub-call must have ended,
    None if there is none: a technique hands it to ``fanout``, which then returns what it has.
    ``choices`` is how many answers that differ are wanted, if the technique can name several.
    ``fence`` marks off text that is not to be obeyed; nobody who writes such text may know it, so
    it comes from no seed. ``sandbox`` runs code, None where the operator allows none.
    ``calibration`` is what was measured of the models. ``techniques`` are those that the task may
    be handed on to, with the operator's options for each; None: all of them, as they are.
    """

    request: Request
    options: OptionsT
    random: Random = field(default_factory=lambda: Random(0))
    allowance: Allowance = field(default_factory=Unlimited)
    deadline: float | None = None
    choices: int = 1
    fence: str = "fence"
    sandbox: Sandbox | None = None
    calibration: Calibration = field(default_factory=Uncalibrated)
    techniques: Mapping[str, Mapping[str, Json]] | None = None
