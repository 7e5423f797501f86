"""Caps over one run, and what its ledger says is left of them. Arithmetic only."""

from __future__ import annotations

from gateway.metering.ledger import Ledger
from pricing.cost import dollars
from pricing.record import record
from techniques.core.errors import CapReached


@record(frozen=True, slots=True)
class Caps:
    """Limits over one run. ``max_cost`` is picodollars."""

    max_calls: int | None = None
    max_cost: int | None = None

    def tighter(self, other: Caps) -> Caps:
        """Return the caps of which each is the smaller of both."""
        return Caps(
            _smaller(self.max_calls, other.max_calls), _smaller(self.max_cost, other.max_cost)
        )


class RunAllowance:
    """What is left of *caps*, by what the run's *ledger* says was used.

    What a call costs is known only when it has ended. Until then what it was expected to cost is
    held. A call that is only asked about counts with the average of those that ended, before that
    with *expected* (picodollars; 0 if the price is not known). So money can be overrun by what
    the open calls differ from their estimates.
    """

    def __init__(self, caps: Caps, ledger: Ledger, expected: int = 0) -> None:
        self._caps = caps
        self._ledger = ledger
        self._expected = expected
        self._begun = 0
        self._before: list[int] = []
        self._held = 0

    @property
    def limits_cost(self) -> bool:
        """Whether it matters what a call costs."""
        return self._caps.max_cost is not None

    def affordable(self, calls: int) -> int:
        """Return how many of *calls* further sub-calls still fit."""
        left = calls
        if self._caps.max_calls is not None:
            left = min(left, self._caps.max_calls - self._begun)
        if self._caps.max_cost is not None:
            left = min(left, self._by_cost(self._caps.max_cost, calls))
        return max(left, 0)

    def take(self, expected: int = 0) -> int:
        """Count one call as begun, and return what is held for it.

        *expected* is what it will cost, in picodollars; 0 for what calls of this run cost.

        Raises:
            CapReached: It does not fit.
        """
        if not self.affordable(1) or self._dearer(expected):
            raise CapReached(self._told(expected))
        self._begun += 1
        held = (expected or self._each()) if self.limits_cost else 0
        self._held += held
        return held

    def repeat(self, calls: int, cost: int | None) -> None:
        """Count *calls* that an earlier attempt at the run made, and that cost *cost* together.

        What is left must be what was left then, for a technique decides by it.
        """
        self._begun += calls
        if cost:
            self._before.append(cost)

    def give_back(self, held: int) -> None:
        """Hold *held* no more: the call has ended, and what it cost is in the ledger."""
        self._held -= held

    def _by_cost(self, max_cost: int, calls: int) -> int:
        left, each = max_cost - self._spent() - self._held, self._each()
        if left <= 0:
            return 0
        return left // each if each else calls

    def _dearer(self, expected: int) -> bool:
        """Tell whether a call of that cost is more than what is left, where others may fit."""
        most = self._caps.max_cost
        return most is not None and self._spent() + self._held + expected > most

    def _spent(self) -> int:
        return sum(self._costs())

    def _costs(self) -> list[int]:
        return [*self._before, *(row.cost for row in self._ledger.rows if row.cost)]

    def _each(self) -> int:
        costs = self._costs()
        return sum(costs) // len(costs) if costs else self._expected

    def _told(self, expected: int) -> str:
        calls, most = self._caps.max_calls, self._caps.max_cost
        if calls is not None and self._begun >= calls:
            return f"The cap of {calls} calls leaves no further call to make."
        left = dollars(max((most or 0) - self._spent() - self._held, 0))
        each = dollars(expected or self._each())
        return (
            f"The cap on cost leaves {left} dollars, and the next call is expected to cost {each}. "
            "(Of an answer without a limit of its own, 256 tokens are expected.)"
        )


def _smaller(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
