"""What only the ledger in memory has: it can stand in for a lost one with a share of it."""

from __future__ import annotations

import pytest

from gateway.stores.ledger import Ask, Entry, WindowReading
from gateway.stores.memory import MemoryLedger
from tests.contract.ledger_store.desk import DAY_MS, Clock, bucket, fixed, gauge, money

pytestmark = pytest.mark.anyio


async def test_a_share_is_of_every_window_and_of_what_is_left_of_money() -> None:
    ledger = MemoryLedger(Clock(), share=0.4)
    await ledger.define(
        "p", [gauge("a", 1), fixed("b", 10, 1000), money("c", 100), bucket("d", 6000, level=500)]
    )
    windows = (await ledger.peek("p")).windows
    assert [window.cap for window in windows] == [1, 4, 100, 2400]
    assert [window.level for window in windows] == [1, 4, 40, 200]


async def test_a_share_is_of_what_answers_tell_too() -> None:
    ledger = MemoryLedger(Clock(), share=0.5)
    await ledger.define("p", [bucket("tok", 6000)])
    await ledger.admit("p", Entry((Ask("a", {"tok": 10}),)), dispatched=True)
    ledger.tell("p", "a", [WindowReading("tok", 2000, 6000)])
    (window,) = (await ledger.peek("p")).windows
    assert (window.cap, window.level) == (3000, 1000)


async def test_pools_that_nobody_uses_are_forgotten() -> None:
    clock = Clock()
    ledger = MemoryLedger(clock)
    for name in ("old", "used"):
        await ledger.define(name, [gauge("a", 1)])
    clock.pass_(5 * DAY_MS)
    await ledger.peek("used")
    clock.pass_(5 * DAY_MS)
    await ledger.peek("new")
    assert (await ledger.peek("old")).windows == ()
    assert len((await ledger.peek("used")).windows) == 1
