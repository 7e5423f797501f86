"""Who is refused by its own limits or its budget takes nothing of the account, which others use."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import anyio
import pytest

from gateway.admission.verdict import Patience
from gateway.policy.budgets import Budget
from gateway.policy.keys import Caller
from gateway.stores.database.ledger import Spender
from gateway.stores.ledger import WindowSpec
from techniques.core.channel import ask
from techniques.core.errors import BudgetExhausted, DeadlinePassed, KeyLimited, OverLimit
from techniques.core.groups import task_group
from techniques.core.request import Sampling
from tests.gateway.pacing.provider import Answer, Provider
from tests.gateway.pacing.scene import QUESTION, Paced, per_minute

ASKED: Final = replace(QUESTION, sampling=Sampling(max_output_tokens=100))
REFUSED: Final = (BudgetExhausted, KeyLimited, OverLimit, DeadlinePassed)
WINDOW: Final = WindowSpec("*:concurrency:0", "gauge", 50)


def _budget(cap: int) -> tuple[Budget, ...]:
    return (Budget(Spender("k"), cap),)


CALLERS: Final[dict[str, tuple[Caller, Patience]]] = {
    "no money left": (Caller("k", budgeted=True, budgets=_budget(1)), Patience(300)),
    "money held": (Caller("k", budgeted=True, budgets=_budget(3 * 10**8)), Patience(0.5)),
    "no time for money": (
        Caller("k", budgeted=True, budgets=_budget(3 * 10**8)),
        Patience(300, deadline_s=1),
    ),
    "calls a minute": (Caller("k", rpm=1), Patience(300)),
    "calls at once": (Caller("k", concurrency=1), Patience(300)),
    "tokens a minute": (Caller("k", tpm=10), Patience(300)),
}


@pytest.mark.parametrize("why", CALLERS)
async def test_nothing_of_the_account_stays_held(why: str) -> None:
    caller, patience = CALLERS[why]
    paced, provider = Paced((WINDOW, per_minute("requests", 100))), Provider(Answer(takes_s=30))
    await paced.store.define(paced.account.pool, [WINDOW, per_minute("requests", 100)])
    refused = 0

    async def call() -> None:
        nonlocal refused
        run = paced.run(caller, patience)
        try:
            await ask(paced.channel(provider, run), ASKED)
        except REFUSED:
            refused += 1

    async with task_group() as group:
        for _ in range(6):
            group.start_soon(call)
        await anyio.sleep(5)
        state = await paced.store.peek(paced.account.pool)

    under_way = 6 - refused
    assert refused >= 5
    assert state.leases == under_way
    level = {window.name: window.level for window in state.windows}
    assert level[WINDOW.name] == WINDOW.cap - under_way
    assert level["*:requests:60"] >= 100 - under_way


async def test_who_leaves_while_it_waits_for_money_takes_nothing_with_it() -> None:
    caller, _ = CALLERS["money held"]
    paced, provider = Paced((WINDOW,)), Provider(Answer(takes_s=30))
    await paced.store.define(paced.account.pool, [WINDOW])

    async with task_group() as group:
        group.start_soon(ask, paced.channel(provider, paced.run(caller)), ASKED)
        await anyio.sleep(1)
        with anyio.move_on_after(2):
            await ask(paced.channel(provider, paced.run(caller)), ASKED)
        state = await paced.store.peek(paced.account.pool)

    assert state.leases == 1


@pytest.mark.parametrize("windows", [(WINDOW,), (replace(WINDOW, cap=2),)], ids=["wide", "narrow"])
async def test_who_waits_for_money_keeps_nobody_from_the_account(
    windows: tuple[WindowSpec, ...],
) -> None:
    poor, _ = CALLERS["money held"]
    paced, provider = Paced(windows), Provider(Answer(takes_s=20))
    await paced.store.define(paced.account.pool, windows)
    began = anyio.current_time()

    async with task_group() as group:
        for _ in range(4):
            group.start_soon(ask, paced.channel(provider, paced.run(poor)), ASKED)
            await anyio.sleep(1)
        await ask(paced.channel(provider, paced.run(Caller("rich"))), ASKED)
        took = anyio.current_time() - began

    assert took == pytest.approx(24)
    assert len(provider.began) == 5, "who had to wait was served in the end"
    state = await paced.store.peek(paced.account.pool)
    assert (state.leases, state.queued) == (0, 0)


async def test_a_panel_that_waits_for_money_keeps_nobody_from_the_account() -> None:
    poor = Caller("k", budgeted=True, budgets=_budget(10**9))
    narrow = replace(WINDOW, cap=6)
    paced, provider = Paced((narrow,)), Provider(Answer(takes_s=20))
    await paced.store.define(paced.account.pool, [narrow])
    began = anyio.current_time()

    async def panel() -> None:
        channel = paced.channel(provider, paced.run(poor, use="self_consistency"))
        async with task_group() as members:
            for _ in range(3):
                members.start_soon(ask, channel, ASKED)

    async with task_group() as group:
        group.start_soon(panel)
        group.start_soon(panel)
        await anyio.sleep(1)
        await ask(paced.channel(provider, paced.run(Caller("rich"))), ASKED)
        took = anyio.current_time() - began

    assert took == pytest.approx(21)
    assert len(provider.began) == 7, "who had to wait was served in the end"
    state = await paced.store.peek(paced.account.pool)
    assert (state.leases, state.queued) == (0, 0)
