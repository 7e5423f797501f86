"""What a technique is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Generic, Protocol, TypeVar

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


@dataclass(frozen=True, slots=True)
class Task(Generic[OptionsT]):
    """One request, the technique's own options, seeded dice and what may be spent.

    ``deadline`` is a time of ``anyio.current_time()`` by which the last sub-call must have ended,
    None if there is none: a technique hands it to ``fanout``, which then returns what it has.
    ``fence`` marks off text that is not to be obeyed; nobody who writes such text may know it, so
    it comes from no seed.
    """

    request: Request
    options: OptionsT
    random: Random = field(default_factory=lambda: Random(0))
    allowance: Allowance = field(default_factory=Unlimited)
    deadline: float | None = None
    fence: str = "fence"
