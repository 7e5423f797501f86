"""What goes on, and what does not, while the shared ledger is lost; on virtual time."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from gateway.stores.guarded import GuardedLedger, LossPolicy
from gateway.stores.ledger import (
    Answer,
    Ask,
    Entry,
    Granted,
    Place,
    Settlement,
    StoreLost,
    Unknown,
    Waiting,
    WindowSpec,
)
from gateway.stores.memory import MemoryLedger

WINDOW = WindowSpec("*:requests:60", "bucket", 100, 60_000)
MONEY = WindowSpec("k:usd:2026-11-01", "never", 1000, used=200)


def now_ms() -> int:
    return int(anyio.current_time() * 1000)


class Flaky(MemoryLedger):
    """A shared ledger that can be away."""

    def __init__(self) -> None:
        super().__init__(now_ms)
        self.away = False
        self.asked = 0
        self.misses = 0

    def _pool(self, name: str) -> Any:
        self.asked += 1
        if self.misses:
            self.misses -= 1
            raise StoreLost("late")
        if self.away:
            raise StoreLost("away")
        return super()._pool(name)


def entry(lease: str, *, queue: bool = False, **needs: int) -> Entry:
    named = {{"requests": WINDOW.name, "money": MONEY.name}[what]: n for what, n in needs.items()}
    return Entry((Ask(lease, named),), Place(queue=queue))


def guarded(policy: LossPolicy | None = None, replicas: int = 1) -> tuple[GuardedLedger, Flaky]:
    shared = Flaky()
    return GuardedLedger(shared, policy or LossPolicy(), lambda: replicas, now_ms), shared


async def granted(store: GuardedLedger, pool: str, calls: int, spec: WindowSpec = WINDOW) -> int:
    """Return how many of *calls* are let through at once; windows are defined when unknown."""
    count = 0
    for number in range(calls):
        asked = entry(f"{pool}-{anyio.current_time()}-{number}", requests=1)
        answer = await store.admit(pool, asked)
        if isinstance(answer, Unknown):
            await store.define(pool, [spec])
            answer = await store.admit(pool, asked)
        count += isinstance(answer, Granted)
    return count


@pytest.mark.parametrize(("replicas", "most"), [(1, 80), (4, 20)])
async def test_alone_a_replica_takes_four_fifths_of_its_share(replicas: int, most: int) -> None:
    store, shared = guarded(replicas=replicas)
    shared.away = True

    assert await granted(store, "up:a", 120) == most
    assert store.lost


async def test_windows_that_are_closed_let_nothing_through() -> None:
    store, shared = guarded(LossPolicy(windows="closed"))
    shared.away = True

    with pytest.raises(StoreLost):
        await store.admit("up:a", entry("l", requests=1))


async def test_money_is_refused_while_windows_go_on() -> None:
    store, shared = guarded()
    shared.away = True

    with pytest.raises(StoreLost):
        await store.admit("key:k", entry("l", money=1))
    assert await granted(store, "key:k", 1) == 1


async def test_money_that_is_local_is_its_share_of_what_was_left() -> None:
    store, shared = guarded(LossPolicy(budgets="local"), replicas=2)
    shared.away = True
    await store.define("key:k", [MONEY])

    answers = [await store.admit("key:k", entry(f"l{n}", money=80)) for n in range(5)]

    assert sum(isinstance(answer, Granted) for answer in answers) == 4


async def test_a_lost_store_is_not_asked_for_every_call() -> None:
    store, shared = guarded()
    shared.away = True
    await granted(store, "up:a", 50)
    found_lost = shared.asked

    await anyio.sleep(1)
    await granted(store, "up:a", 50)

    assert shared.asked == found_lost + 1


class Frozen(Flaky):
    """A shared ledger that, away, is silent for a tenth of a second before each of its failures."""

    async def admit(self, pool: str, entry: Entry, *, dispatched: bool = False) -> Answer:
        if self.away:
            await anyio.sleep(0.1)
        return await super().admit(pool, entry, dispatched=dispatched)


async def test_of_many_who_call_while_the_store_is_frozen_one_a_while_waits_for_it() -> None:
    shared = Frozen()
    store = GuardedLedger(shared, LossPolicy(), lambda: 1, now_ms)
    shared.away = True
    await store.define("up:a", [WINDOW])
    waits: list[float] = []

    async def call(number: int) -> None:
        await anyio.sleep(number / 100)
        began = anyio.current_time()
        await store.admit("up:a", entry(f"l{number}", requests=1))
        waits.append(anyio.current_time() - began)

    async with anyio.create_task_group() as group:
        for number in range(1000):  # for ten seconds
            group.start_soon(call, number)

    waited = [wait for wait in waits if wait]
    assert len(waited) == 3  # after 1, 2 and 4 seconds
    assert waited == pytest.approx([0.1] * 3)


async def test_a_store_that_answers_late_now_and_then_is_not_lost() -> None:
    store, shared = guarded()
    await shared.define("up:a", [WINDOW])
    for number in range(5):
        shared.misses = 3
        assert isinstance(await store.admit("up:a", entry(f"l{number}", requests=1)), Granted)

    assert not store.losses


async def test_who_waits_alone_sees_the_store_come_back() -> None:
    store, shared = guarded()
    shared.away = True
    await store.define("up:a", [WINDOW])
    await granted(store, "up:a", 100)
    assert isinstance(await store.admit("up:a", entry("l", queue=True, requests=9)), Waiting)
    assert isinstance(await store.check("up:a", "l"), Waiting)
    shared.away = False
    await anyio.sleep(1)

    assert await store.check("up:a", "l") == Unknown("")
    assert not store.lost


async def test_it_is_asked_again_in_at_most_five_seconds() -> None:
    store, shared = guarded()
    shared.away = True
    for _ in range(20):
        await granted(store, "up:a", 1)
        await anyio.sleep(5)
    shared.away = False

    await granted(store, "up:a", 1)

    assert not store.lost


async def test_when_it_is_back_nobody_has_a_burst() -> None:
    store, shared = guarded()
    await shared.define("up:a", [WINDOW])
    shared.away = True
    assert await granted(store, "up:a", 100) > 0 or store.lost
    await anyio.sleep(6)
    shared.away = False
    cold = WindowSpec(WINDOW.name, "bucket", 100, 60_000, level=10)
    await store.define("up:a", [WINDOW])

    assert await granted(store, "up:a", 100, cold) <= 11


async def test_a_lease_that_was_taken_alone_ends_alone() -> None:
    store, shared = guarded()
    shared.away = True
    await store.define("up:a", [WINDOW])
    await store.admit("up:a", entry("l", requests=1), dispatched=True)
    shared.away = False

    asked = shared.asked

    store.settle("up:a", Settlement("l"))

    assert shared.asked == asked


async def test_who_stood_in_a_line_that_is_lost_is_told_to_ask_anew() -> None:
    store, shared = guarded()
    await store.define("up:a", [WindowSpec(WINDOW.name, "bucket", 1, 60_000)])
    await store.admit("up:a", entry("first", requests=1))
    assert isinstance(await store.admit("up:a", entry("l", queue=True, requests=1)), Waiting)
    shared.away = True

    assert isinstance(await store.check("up:a", "l"), Unknown)


async def test_each_operation_of_the_shared_store_is_told_with_its_time_and_its_end() -> None:
    told: list[tuple[str, float, str]] = []
    store, shared = guarded(LossPolicy(timed=lambda *operation: told.append(operation)))

    await store.define("up:a", [WINDOW])
    await store.admit("up:a", entry("l", requests=1))
    shared.away = True
    await store.peek("up:a")

    assert [(operation, end) for operation, _, end in told] == [
        ("define", "done"),
        ("admit", "done"),
        *[("peek", "failed")] * 4,
    ]
    assert all(seconds == 0 for _, seconds, _ in told)  # on virtual time
