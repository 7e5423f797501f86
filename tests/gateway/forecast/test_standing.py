"""Windows as they are read from a ledger: they go on as they would have there."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.admission.limits import VENDORS
from gateway.admission.windows import Window
from gateway.forecast.standing import Pool, Stood, charged_by, groups, window_of
from gateway.forecast.world import Charged
from gateway.stores.ledger import (
    Ask,
    Entry,
    Refusal,
    Settlement,
    WindowReading,
    WindowSpec,
    WindowState,
)
from gateway.stores.memory import MemoryLedger
from gateway.upstream.account import Account

TOKENS = "m:tokens:60"
POOL = "up:acme"


class Kept:
    """A ledger whose time is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.ledger = MemoryLedger(lambda: self.now)
        self.count = 0

    async def state(self, name: str = TOKENS) -> WindowState:
        state = await self.ledger.peek(POOL)
        return next(window for window in state.windows if window.name == name)

    async def send(self, need: int) -> str:
        self.count += 1
        lease = f"l{self.count}"
        entry = Entry((Ask(lease, {TOKENS: need}),))
        await self.ledger.admit(POOL, entry, dispatched=True)
        return lease

    async def waits(self, need: int) -> int | None:
        """Return how long the ledger says that *need* would wait."""
        answer = await self.ledger.admit(POOL, Entry((Ask("asked", {TOKENS: need}),)))
        return getattr(answer, "eta_ms", 0)


def read(state: WindowState) -> Window:
    window = window_of(state)
    assert isinstance(window, Window)
    return window


def told(name: str, kind: Any, level: float, **more: Any) -> WindowState:
    """Return a window of a hundred that nobody drains or blocks."""
    quiet = {"margin": 0, "rate": 0, "drain": 0, "blocked_ms": 0, "ends_in_ms": None, "held": 0}
    known = {**quiet, "provisional": False, **more}
    return WindowState(name=name, kind=kind, cap=100, level=level, **known)


@pytest.mark.parametrize("kind", ["bucket", "fixed"])
async def test_a_copy_is_waited_for_as_long_as_the_window_itself(kind: str) -> None:
    kept = Kept()
    spec = WindowSpec(TOKENS, kind, 6000, 60_000, 20_000)  # type: ignore[arg-type]
    await kept.ledger.define(POOL, [spec])
    await kept.send(5000)
    kept.now += 7000

    copied = read(await kept.state()).wait(3000)

    assert copied == await kept.waits(3000)
    assert copied > 5000


async def test_what_a_refusal_taught_is_in_the_copy() -> None:
    kept = Kept()
    await kept.ledger.define(POOL, [WindowSpec(TOKENS, "bucket", 6000, 60_000)])
    kept.ledger.reject(POOL, Refusal(await kept.send(500), TOKENS, 9000))
    kept.now += 1000

    window = read(await kept.state())

    assert window.wait(100) == await kept.waits(100)
    assert window.margin > 60
    assert window.blocked == 8000


async def test_what_others_take_is_in_the_copy() -> None:
    kept = Kept()
    await kept.ledger.define(POOL, [WindowSpec(TOKENS, "bucket", 6000, 60_000)])
    for left in (5500, 3000, 1500):
        lease = await kept.send(100)
        kept.now += 1000
        said = WindowReading(TOKENS, left, 6000)
        kept.ledger.settle(POOL, Settlement(lease, {TOKENS: 100}, (said,)))
        kept.now += 9000

    state = await kept.state()

    assert state.drain > 20
    assert read(state).wait(5000) == pytest.approx(await kept.waits(5000), abs=2)


async def test_a_fixed_window_has_its_boundary_and_then_its_own_length() -> None:
    window = read(told("m:requests:86400", "fixed", 0, ends_in_ms=5000))
    first = window.wait(50)
    window.advance(5000)
    window.take(100)

    assert (first, window.wait(50)) == (5000, 86_400_000)


async def test_an_account_with_a_short_minute_has_short_windows() -> None:
    kept = Kept()
    await kept.ledger.define(POOL, [WindowSpec(TOKENS, "bucket", 6000, 6000)])

    window = window_of(await kept.state(), 6.0)

    assert isinstance(window, Window)
    assert window.rate == 1.0


@pytest.mark.parametrize("kind", ["bucket", "fixed"])
def test_a_window_whose_name_tells_no_period_comes_back_all_the_same(kind: str) -> None:
    window = read(told("m:tokens:0", kind, 0, ends_in_ms=10))

    wait = window.wait(50)
    window.advance(wait)

    assert window.wait(50) == 0


async def test_a_purse_keeps_what_is_held_apart_from_what_is_spent() -> None:
    purse = window_of(told("k:usd:2026-01-01", "never", 3, held=2))

    assert (purse.wait(3), purse.wait(5), purse.wait(6)) == (0, -2, -1)


async def test_a_window_that_two_models_share_is_put_in_once() -> None:
    kept = Kept()
    specs = [
        WindowSpec("*:requests:60", "bucket", 60, 60_000),
        WindowSpec("a:tokens:60", "bucket", 6000, 60_000),
        WindowSpec("b:tokens:60", "bucket", 6000, 60_000),
    ]
    account, stood = Account("acme", VENDORS["generic"], specs), Stood()
    await kept.ledger.define(POOL, specs[:2])
    pool = Pool(account, await kept.ledger.peek(POOL))

    first, second = (charged_by(stood, pool, model, {"requests": 1}) for model in ("a", "b"))

    assert stood.names == ["*:requests:60", "a:tokens:60", "b:tokens:60"]
    assert [row.place for row in first] == [0, 1]
    assert [row.place for row in second] == [0, 2]
    assert stood.windows[1].wait(6000) == 0
    assert stood.windows[2].wait(6000) > 0  # nobody has seen it: a tenth is there


def test_models_that_share_a_window_are_of_one_group() -> None:
    own = Charged(9, "requests", own=True)
    rows = [[Charged(0, "tokens"), own], [Charged(1, "tokens"), own], [Charged(2, "tokens")]]
    bridge = [Charged(0, "tokens"), Charged(2, "requests")]

    assert groups(rows) == [0, 1, 2]
    one, other, third, fourth = groups([*rows, bridge])
    assert one == third == fourth != other
