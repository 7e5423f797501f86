"""What becomes of a call that its account cannot take at once: held, or given back. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pricing.record import record

OnLimit: TypeAlias = Literal["hold", "suspend", "reject"]

_READ_S = 5.0
"""What is kept back of the time after which a client stops to read."""


@record(frozen=True, slots=True)
class Patience:
    """How long one call may be held. All are seconds from the call's arrival, None: no bound.

    Attributes:
        surface_s: What the surface allows, longer for a stream than for a whole answer.
        wished_s: What the client allows.
        deadline_s: Until the whole answer has to stand.
        read_s: After which the client's SDK gives up reading.
    """

    surface_s: float
    wished_s: float | None = None
    deadline_s: float | None = None
    read_s: float | None = None
    on_limit: OnLimit = "hold"

    def longest_s(self, predicted_s: float = 0.0) -> float:
        """Return how long the call may be held if it then takes *predicted_s*."""
        bounds = [self.surface_s]
        if self.wished_s is not None:
            bounds.append(self.wished_s)
        if self.deadline_s is not None:
            bounds.append(self.deadline_s - predicted_s)
        if self.read_s is not None:
            bounds.append(self.read_s - _READ_S)
        return max(min(bounds), 0.0)


@dataclass(frozen=True, slots=True)
class Hold:
    """It waits, for so many seconds at most from now."""

    longest_s: float


@dataclass(frozen=True, slots=True)
class GiveBack:
    """It is not made: it may not wait so long, it is not to wait, or could not end in time."""

    why: Literal["patience", "asked", "deadline"]


def verdict(
    patience: Patience, waited_s: float, eta_s: float | None, predicted_s: float = 0.0
) -> Hold | GiveBack:
    """Return what becomes of a call that can go in *eta_s*, None: when others have ended.

    It has been there for *waited_s*, and would take *predicted_s*. Waiting or not is a comparison
    of the time to wait with the patience, and nothing else.
    """
    deadline_s = patience.deadline_s
    if deadline_s is not None and waited_s + predicted_s > deadline_s:
        return GiveBack("deadline")
    if patience.on_limit != "hold":
        return GiveBack("asked")
    left = patience.longest_s(predicted_s) - waited_s
    if left > 0 and (eta_s or 0.0) <= left:
        return Hold(left)
    return GiveBack("patience")
