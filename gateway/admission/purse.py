"""The arithmetic of a window of money, whole picodollars: like that of rates written twice."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.admission.windows import NEVER, RELEASE


@dataclass(slots=True)
class Purse:
    """A window of money, in whole picodollars: nothing comes back but what was not spent.

    Attributes:
        at: When it was last asked for.
        told: No answer tells what is left of it.
        free: What was not spent.
        left: What is neither spent nor held.
    """

    name: str
    cap: int
    free: int
    left: int
    at: float = 0
    told: bool = False

    @property
    def held(self) -> int:
        """What is held for calls under way."""
        return self.free - self.left

    def advance(self, now: float) -> None:
        """Note the time, which brings no money."""
        self.at = now

    def wait(self, need: int, ahead: int = 0) -> float:
        """Return 0 if there is enough, RELEASE if there is with what is held, or NEVER."""
        if self.left >= need + ahead:
            return 0
        return RELEASE if self.free >= need else NEVER

    def take(self, amount: int) -> None:
        """Hold *amount*."""
        self.left -= amount

    extend = take

    def end(self, hold: int, charge: int, _since: float) -> None:
        """Replace a *hold* by what was spent."""
        self.left += hold - charge
        self.free -= charge

    def correct(self, old: int, new: int, _since: float) -> None:
        """Replace one charge by another."""
        self.left += old - new
        self.free += old - new

    def resize(self, cap: int) -> None:
        """Change the cap; what was spent and what is held stay."""
        self.left += cap - self.cap
        self.free += cap - self.cap
        self.cap = cap
