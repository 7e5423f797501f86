"""How budgets stand, of each kind the fullest."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gateway.admission.need.conformal import Conformal
from gateway.config.periods import Period
from gateway.metering.meters.money import Fullest, Scope
from gateway.pacing.burning import standing
from gateway.pacing.pacer import Pacer
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.database.ledger import Spender
from gateway.stores.memory import MemoryLedger

NOW = datetime(2026, 11, 16, tzinfo=UTC)  # half of November is over, and it is a Monday
DOLLAR = 10**12


def budget(of: str, dollars: int, period: Period, *, team: bool = False) -> Budget:
    return Budget(Spender(of, is_team=team), dollars * DOLLAR, period)


async def told(*spent: tuple[Budget, int]) -> dict[tuple[Scope, Period], Fullest]:
    """Return what is told where so many dollars of each budget are spent."""
    store = MemoryLedger()
    pacer = Pacer(store, Conformal())
    for number, (one, dollars) in enumerate(spent):
        caller = Caller(name=f"k{number}", budgets=(one,))
        pacer.purse(caller)
        await store.define(caller.pool, [one.window(NOW, dollars * DOLLAR)])
    return dict(await standing(pacer, NOW))


async def test_a_pace_of_one_spends_a_budget_up_when_its_period_ends() -> None:
    assert await told((budget("k0", 100, "month"), 50)) == {("key", "month"): Fullest(0.5, 1.0)}


async def test_the_fullest_and_the_fastest_need_not_be_the_same() -> None:
    found = await told(
        (budget("k0", 100, "month"), 40),
        (budget("k1", 100, "month"), 90),
        (budget("t", 10, "total", team=True), 5),
    )

    assert found["key", "month"] == pytest.approx((0.9, 1.8))
    assert found["team", "total"] == Fullest(0.5, 0.5)


async def test_a_period_that_has_just_begun_makes_no_fire() -> None:
    found = await told((budget("k0", 100, "day"), 2))

    assert found["key", "day"].pace == pytest.approx(1.0)


async def test_a_budget_of_which_nothing_was_spent_here_is_not_told() -> None:
    pacer = Pacer(MemoryLedger(), Conformal())
    pacer.purse(Caller(name="k0", budgets=(budget("k0", 1, "day"),)))

    assert await standing(pacer, NOW) == {}
