"""The limits of a key that has changed hold from its next call on, whatever was spent before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.pacing.pacer import PacingPolicy
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.ledger import Spender
from gateway.stores.ledger import PoolState
from techniques.core.channel import ask
from techniques.core.errors import BudgetExhausted, GatewayError, KeyLimited
from tests.gateway.pacing.provider import Provider
from tests.gateway.pacing.scene import QUESTION, Paced

PICO = 10**12
CALLER = Caller("k", rpm=2)


async def ends(paced: Paced, caller: Caller, calls: int) -> list[str]:
    """Return how so many calls ended, one after the other."""
    found = []
    for _ in range(calls):
        try:
            await ask(paced.channel(Provider(), paced.run(caller)), QUESTION)
        except GatewayError as error:
            found.append(type(error).__name__)
        else:
            found.append("ok")
    return found


async def caps(paced: Paced, caller: Caller) -> dict[str, int]:
    state: PoolState = await paced.store.peek(caller.pool)
    return {it.name: it.cap for it in state.windows}


async def test_a_key_that_may_do_less_may_do_it_at_once() -> None:
    paced = Paced()
    assert await ends(paced, replace(CALLER, rpm=10), 1) == ["ok"]

    assert await ends(paced, CALLER, 3) == ["ok", "ok", KeyLimited.__name__]
    assert await caps(paced, CALLER) == {"k:requests:60": 2}


async def test_a_key_that_may_do_more_is_not_held_to_what_it_was() -> None:
    paced = Paced()
    await ends(paced, CALLER, 1)

    await ends(paced, replace(CALLER, rpm=100), 1)

    assert await caps(paced, CALLER) == {"k:requests:60": 100}


async def test_of_a_budget_that_has_changed_what_was_spent_stays_spent() -> None:
    paced = Paced()
    small = budgeted(PICO // 10)
    assert await ends(paced, small, 1) == ["ok"]
    (spent,) = [PICO // 10 - it.level for it in (await paced.store.peek(small.pool)).windows]

    large = budgeted(PICO)
    assert await ends(paced, large, 1) == ["ok"]

    (window,) = (await paced.store.peek(large.pool)).windows
    assert spent > 0
    assert (window.cap, window.level) == (PICO, PICO - 2 * spent)
    assert await ends(paced, budgeted(1), 1) == [BudgetExhausted.__name__]


async def test_while_the_database_is_lost_what_held_before_holds_on() -> None:
    paced = Paced()
    await ends(paced, budgeted(PICO), 1)

    async def lost(_budget: Budget) -> int:
        raise DatabaseLost("gone")

    paced.pacer._spent = lost

    assert await ends(paced, budgeted(2 * PICO), 1) == ["ok"]
    assert list((await caps(paced, budgeted(PICO))).values()) == [PICO]


async def test_a_caller_who_has_not_changed_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paced = Paced()
    looks = 0
    peek = paced.store.peek

    async def counted(pool: str) -> PoolState:
        nonlocal looks
        looks += pool == CALLER.pool
        return await peek(pool)

    monkeypatch.setattr(paced.store, "peek", counted)

    await ends(paced, CALLER, 2)

    assert looks == 1


async def test_one_of_another_policy_shares_what_is_known_and_under_way() -> None:
    paced = Paced()
    other = paced.pacer.under(PacingPolicy("observe", move_after_s=9))

    assert (other.observes, other.move_after_s) == (True, 9)
    assert other.live is paced.pacer.live
    assert other.purse(CALLER) is paced.pacer.purse(CALLER)


def budgeted(cap: int) -> Caller:
    return Caller("k", budgets=(Budget(Spender("k"), cap),), budgeted=True)
