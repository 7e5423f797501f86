"""The ledger in Redis and the one in memory are one: the same is done to both, under one clock."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import fields, is_dataclass
from typing import Any, TypeAlias

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.stores.ledger import (
    Ask,
    Entry,
    LedgerStore,
    Place,
    Refusal,
    Settlement,
    WindowReading,
    WindowSpec,
)
from gateway.stores.memory import MemoryLedger
from gateway.stores.memory.admitting import QueueLimits
from gateway.stores.redis import RedisSettings, redis_ledger
from tests.contract.ledger_store.desk import DAY_MS, MINUTE_MS, Clock, bucket, fixed, gauge, money
from tests.services.valkey import Valkey

HUGE = 4_000_000_000_000_000_001  # four million dollars and a picodollar: beyond what doubles hold

SPECS = (
    bucket("m:tokens:60", 6000),
    bucket("m:requests:60", 30),
    bucket("n:tokens:60", 900, level=300),
    fixed("*:requests:86400", 40, 50_000),
    fixed("n:requests:60", 4, 7000, MINUTE_MS),
    gauge("*:concurrency:0", 3),
    money("*:usd:2026-11-01", HUGE, used=HUGE - 1000),
)
NAMES = [spec.name for spec in SPECS] + ["*:tokens:60"]  # the last is there once an answer told it
LEASES = [f"l{number}" for number in range(12)]

Step: TypeAlias = Callable[[LedgerStore, str], Awaitable[object]]

leases = st.sampled_from(LEASES)
names = st.sampled_from(NAMES)
amounts = st.integers(0, 1200)
needs = st.dictionaries(names, st.one_of(st.integers(0, 5), amounts, st.just(7000)), max_size=4)
readings = st.lists(
    st.builds(
        WindowReading,
        name=names,
        remaining=st.one_of(st.none(), st.integers(-1, 6000).map(float)),
        limit=st.one_of(st.none(), st.sampled_from([0.0, 30.0, 900.0, 6000.0, 8000.0])),
        kind=st.sampled_from(["bucket", "fixed"]),
        period_ms=st.sampled_from([MINUTE_MS, DAY_MS]),
        reset_ms=st.one_of(st.none(), st.integers(0, 90_000)),
        exact=st.booleans(),
        bounded=st.booleans(),
    ),
    max_size=3,
)
places = st.builds(
    Place,
    priority=st.integers(0, 9),
    tenant=st.sampled_from(["", "a", "b"]),
    weight=st.sampled_from([0.5, 1.0, 3.0]),
    since_ms=st.sampled_from([0, 0, 9999, 25_000]),
    tag=st.one_of(st.none(), st.integers(0, 2_000_000).map(float)),
    queue=st.sampled_from([True, True, True, False]),
)


@st.composite
def admissions(draw: st.DrawFn) -> Step:
    ids = draw(st.lists(leases, min_size=1, max_size=3, unique=True))
    entry = Entry(tuple(Ask(name, draw(needs)) for name in ids), draw(places))
    dispatched = draw(st.booleans())
    return lambda ledger, pool: ledger.admit(pool, entry, dispatched=dispatched)


@st.composite
def quiet(draw: st.DrawFn) -> Step:
    """Something that nobody waits for."""
    lease, more, told = draw(leases), draw(needs), draw(readings)
    row = draw(st.one_of(st.none(), st.sampled_from(["r", "s"])))
    refusal = Refusal(
        lease,
        draw(st.one_of(st.none(), names)),
        draw(st.one_of(st.none(), st.integers(0, 20_000))),
        told,
        draw(st.booleans()),
    )
    done: Callable[[LedgerStore, str], None] = draw(
        st.sampled_from(
            [
                lambda ledger, pool: ledger.settle(pool, Settlement(lease, more, told, row)),
                lambda ledger, pool: ledger.settle(pool, Settlement(lease, row=row)),
                lambda ledger, pool: ledger.tell(pool, lease, told),
                lambda ledger, pool: ledger.cancel(pool, lease),
                lambda ledger, pool: ledger.reject(pool, refusal),
                lambda ledger, pool: ledger.leave(pool, lease),
                lambda ledger, pool: ledger.dispatch(pool, [lease]),
                lambda ledger, pool: ledger.renew(pool, [lease]),
                lambda ledger, pool: ledger.extend(pool, lease, more),
                lambda ledger, pool: ledger.acknowledge(pool, [lease]),
            ]
        )
    )

    async def step(ledger: LedgerStore, pool: str) -> None:
        done(ledger, pool)

    return step


@st.composite
def definitions(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(["bucket", "fixed", "gauge", "never"]))
    spec = draw(
        st.builds(
            WindowSpec,
            name=names,
            kind=st.just(kind),
            cap=st.sampled_from([0, 2, 30, 900, HUGE if kind == "never" else 6000]),
            period_ms=st.sampled_from([MINUTE_MS, DAY_MS]),
            ends_in_ms=st.sampled_from([0, 3000]),
            level=st.one_of(st.none(), st.integers(0, 500)),
            used=st.sampled_from([0, 5, HUGE - 7]),
            provisional=st.booleans(),
        )
    )
    return lambda ledger, pool: ledger.define(pool, [spec])


checks = leases.map(lambda lease: lambda ledger, pool: ledger.check(pool, lease))
times = st.sampled_from([0, 0, 1, 10, 700, 5000, 14_999, 61_000, 130_000])
steps = st.lists(
    st.tuples(
        times, st.one_of(admissions(), admissions(), quiet(), quiet(), checks, definitions())
    ),
    min_size=6,
    max_size=40,
)


def same(one: object, other: object) -> bool:
    """Compare values; numbers may differ in what adding in another order leaves."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        if isinstance(one, int) and isinstance(other, int):
            return one == other or abs(one - other) <= 1 < abs(one)
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one) and type(one) is type(other):
        values = ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
        return all(same(mine, its) for mine, its in values)
    return one == other


async def run_on_both(url: str, script: list[tuple[int, Any]], most: int = 6) -> None:
    clock, pool = Clock(), f"p{uuid.uuid4().hex}"
    limits = QueueLimits(pool=most, tenant=most - 2)
    settings_ = RedisSettings([url], deadline_s=5, queue=limits.pool, queue_of_tenant=limits.tenant)
    memory = MemoryLedger(clock, limits=limits)
    async with redis_ledger(settings_, clock) as redis:
        for ledger in (memory, redis):
            await ledger.define(pool, SPECS)
        for number, (ms, step) in enumerate(script):
            clock.pass_(ms)
            one, other = await step(memory, pool), await step(redis, pool)
            assert same(one, other), f"step {number}: {one} in memory, {other} in Valkey"
            one, other = await memory.peek(pool), await redis.peek(pool)
            assert same(one, other), f"after step {number}: {one} in memory, {other} in Valkey"
        one, other = await memory.rows(pool, 100, 0), await redis.rows(pool, 100, 0)
        assert same(one, other), f"rows: {one} in memory, {other} in Valkey"


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps)
def test_both_ledgers_answer_alike_and_stand_alike_after_anything_done_to_them(
    valkey: Valkey, script: list[tuple[int, Any]]
) -> None:
    anyio.run(run_on_both, valkey.url, script)


def likely(dice: random.Random, turns: int) -> list[tuple[int, Any]]:
    """Return what is likely in a busy pool: many who wait, answers with readings, few accidents."""
    script: list[tuple[int, Any]] = []
    for turn in range(turns):
        ms = dice.choice([0, 1, 30, 200, 700, 3000])
        lease = f"t{turn - dice.randint(1, 20)}"
        script.append((ms, _arrives(dice, turn) if turn % 2 else _goes_on(dice, lease)))
    return script


def _arrives(dice: random.Random, turn: int) -> Step:
    needs = {"m:requests:60": 1, "m:tokens:60": dice.choice([20, 200, 1500, 4000])}
    if dice.random() < 0.5:
        needs |= {"*:concurrency:0": 1}
    place = Place(dice.choice([1, 5, 5, 8]), dice.choice("aaab"), dice.choice([1.0, 2.0]))
    entry = Entry((Ask(f"t{turn}", needs),), place)
    return lambda ledger, pool: ledger.admit(pool, entry, dispatched=True)


def _goes_on(dice: random.Random, lease: str) -> Step:
    left = float(dice.randint(0, 6000))
    shown = [WindowReading("m:tokens:60", left, 6000.0)]
    used = {"m:tokens:60": dice.randint(10, 4500)}
    refusal = Refusal(lease, dice.choice([None, "m:tokens:60"]), dice.choice([None, 800]), shown)
    done: Callable[[LedgerStore, str], None] = dice.choices(
        [
            lambda ledger, pool: ledger.settle(pool, Settlement(lease, used, shown)),
            lambda ledger, pool: ledger.dispatch(pool, [lease]),
            lambda ledger, pool: ledger.tell(pool, lease, shown),
            lambda ledger, pool: ledger.reject(pool, refusal),
            lambda ledger, pool: ledger.extend(pool, lease, used),
            lambda ledger, pool: ledger.leave(pool, lease),
        ],
        [8, 4, 1, 1, 1, 1],
    )[0]

    async def step(ledger: LedgerStore, pool: str) -> object:
        done(ledger, pool)
        return await ledger.check(pool, lease)

    return step


@pytest.mark.parametrize("seed", range(3))
def test_both_ledgers_go_the_same_way_through_a_busy_time(valkey: Valkey, seed: int) -> None:
    anyio.run(run_on_both, valkey.url, likely(random.Random(seed), 250), 30)
