"""How the budgets of those who have been here stand: the part that is spent, and how fast it goes.

Of each kind only the fullest and the fastest is told: nothing here names a key.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from gateway.config.periods import Period
from gateway.metering.meters.money import Fullest, Scope
from gateway.pacing.pacer import Pacer
from gateway.policy.budgets import Budget
from gateway.stores.ledger import PoolState

_MOST: Final = 200
"""Pools that are looked at in one go: of more, those that have been here longest."""
_EARLY: Final = 0.02
"""The part of a period in which a pace says nothing yet: less of it is taken for so much."""


async def standing(pacer: Pacer, now: datetime) -> Mapping[tuple[Scope, Period], Fullest]:
    """Return how the budgets stand that callers of this process have.

    Raises:
        StoreLost: It cannot be told.
    """
    found: dict[tuple[Scope, Period], Fullest] = {}
    for pool, budgets in list(pacer.budgets().items())[:_MOST]:
        state = await pacer.store.peek(pool)
        for budget in budgets:
            used = _used(budget, state, now)
            if used is not None:
                kind: tuple[Scope, Period] = (
                    "team" if budget.spender.is_team else "key",
                    budget.period,
                )
                before = found.get(kind, Fullest(0.0, 0.0))
                pace = used / _over(budget, now)
                found[kind] = Fullest(max(used, before.used), max(pace, before.pace))
    return found


def _used(budget: Budget, state: PoolState, now: datetime) -> float | None:
    """Return the part of *budget* that is spent or held, None if its window is not there."""
    name = budget.window_name(now)
    window = next((window for window in state.windows if window.name == name), None)
    if window is None or window.cap <= 0:
        return None
    return 1 - window.level / window.cap


def _over(budget: Budget, now: datetime) -> float:
    """Return the part of the budget's period that is over; one without an end is always over."""
    span = budget.span(now)
    if span.start is None or span.end is None:
        return 1.0
    return max((now - span.start) / (span.end - span.start), _EARLY)
