"""Caps over one run, and what its ledger says is left of them. Arithmetic only."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.metering.ledger import Ledger
from techniques.core.errors import CapReached


@dataclass(frozen=True, slots=True)
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

    What a call costs is known only when it has ended. Until then each open call, and each that is
    asked about, counts with the average of those that ended, before that with *expected*
    (picodollars; 0 if the price is not known). So money can be overrun by what the calls of one
    wave differ from that.
    """

    def __init__(self, caps: Caps, ledger: Ledger, expected: int = 0) -> None:
        self._caps = caps
        self._ledger = ledger
        self._expected = expected
        self._begun = 0

    def affordable(self, calls: int) -> int:
        """Return how many of *calls* further sub-calls still fit."""
        left = calls
        if self._caps.max_calls is not None:
            left = min(left, self._caps.max_calls - self._begun)
        if self._caps.max_cost is not None:
            left = min(left, self._by_cost(self._caps.max_cost, calls))
        return max(left, 0)

    def take(self) -> None:
        """Count one call as begun.

        Raises:
            CapReached: None is left.
        """
        if not self.affordable(1):
            raise CapReached(
                "The caps of this run leave no further call. (Of an answer without a limit of its "
                "own, 256 tokens are expected.)"
            )
        self._begun += 1

    def _by_cost(self, max_cost: int, calls: int) -> int:
        costs = [row.cost for row in self._ledger.rows if row.cost]
        spent = sum(costs)
        each = spent // len(costs) if costs else self._expected
        if spent >= max_cost:
            return 0
        if not each:
            return calls
        open_calls = max(self._begun - len(self._ledger.rows), 0)
        return (max_cost - spent) // each - open_calls


def _smaller(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
