"""Budgets: what a key or a team may spend in a calendar period, as a window of the ledger.

Nothing is ever reset. Each period has a window of its own, named for its first day, and what was
spent in it is the sum of the ledger's rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gateway.admission.calendar import Span, span_of
from gateway.config.periods import Period
from gateway.stores.database.ledger import LedgerTable, Spender
from gateway.stores.ledger import WindowSpec

_TEAM = "*"


@dataclass(frozen=True, slots=True)
class Budget:
    """*cap* picodollars that *spender* may spend in each *period*, by the clocks of *tz*."""

    spender: Spender
    cap: int
    period: Period = "month"
    tz: str = "UTC"

    def span(self, now: datetime) -> Span:
        """Return the period that *now* is in."""
        return span_of(self.period, self.tz, now)

    def window_name(self, now: datetime) -> str:
        """Return the name of the window of now's period, in the pool of its key or team."""
        who = _TEAM if self.spender.is_team else self.spender.name
        return f"{who}:usd:{self.span(now).name}"

    def window(self, now: datetime, spent: int) -> WindowSpec:
        """Return the window of now's period, of which *spent* picodollars are gone."""
        return WindowSpec(self.window_name(now), "never", self.cap, used=spent)

    async def spent(self, ledger: LedgerTable, now: datetime) -> int:
        """Return the picodollars that the rows of now's period come to.

        Raises:
            DatabaseLost: They cannot be read.
        """
        span = self.span(now)
        return await ledger.spent(self.spender, span.start, span.end)
