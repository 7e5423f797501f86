"""How the windows of accounts are told."""

from __future__ import annotations

import anyio
import pytest

from gateway.admission.limits import VENDORS
from gateway.stores.ledger import Ask, Entry, Place, WindowSpec
from gateway.stores.memory import MemoryLedger
from gateway.surfaces.overview.limits import MOST, limits
from gateway.upstream.account import Account
from tests.gateway.pacing.scene import now_ms, per_minute

SPECS = (
    per_minute("requests", 60),
    per_minute("tokens", 1000, "small"),
    WindowSpec("*:concurrency:0", "gauge", 4),
    WindowSpec("*:requests:86400", "fixed", 100, 86_400_000, ends_in_ms=5_000),
)


def account(*specs: WindowSpec, name: str = "oa") -> Account:
    return Account(name, VENDORS["generic"], specs or SPECS)


async def test_what_is_stated_and_was_never_used_is_full() -> None:
    (told,) = await limits(MemoryLedger(now_ms), [account()])

    assert (told["account"], told["queued"], told["under_way"], told["more"]) == ("oa", 0, 0, 0)
    assert {it["window"]: (it["left"], it["cap"], it["full_ms"]) for it in told["windows"]} == {
        "*:requests:60": (60, 60, 0),
        "small:tokens:60": (1000, 1000, 0),
        "*:concurrency:0": (4, 4, 0),
        "*:requests:86400": (100, 100, 0),
    }
    by_name = {it["window"]: it for it in told["windows"]}
    small = by_name["small:tokens:60"]
    assert (small["model"], small["dimension"], small["period_s"]) == ("small", "tokens", 60)
    assert by_name["*:requests:60"]["model"] is None


async def test_what_is_left_held_and_when_it_is_full_again() -> None:
    store, oa = MemoryLedger(now_ms), account()
    await store.define(oa.pool, SPECS)
    needs = {"*:requests:60": 30, "*:concurrency:0": 1, "*:requests:86400": 30}
    await store.admit(oa.pool, Entry((Ask("l", needs),)), dispatched=True)
    await anyio.sleep(1)

    (told,) = await limits(store, [oa])
    found = {it["window"]: it for it in told["windows"]}

    assert told["under_way"] == 1
    rate, gauge, fixed = (found[name] for name in needs)
    assert (rate["left"], rate["held"]) == (pytest.approx(31, abs=0.1), 30)
    assert rate["full_ms"] == pytest.approx(29_000, abs=150)
    assert (gauge["left"], gauge["held"], gauge["full_ms"]) == (3, 1, None)
    assert (fixed["left"], fixed["full_ms"]) == (70, 4_000)


async def test_probes_and_money_are_no_limits_of_an_account() -> None:
    store, oa = MemoryLedger(now_ms), account(per_minute("requests", 6))
    await store.define(
        oa.pool,
        [
            WindowSpec("small:probe:0", "gauge", 1),
            WindowSpec("key:usd:day", "never", 5),
            WindowSpec("*:tokens:60", "bucket", 0, 60_000),
        ],
    )

    (told,) = await limits(store, [oa])

    assert [it["window"] for it in told["windows"]] == ["*:requests:60"]


async def test_of_very_many_windows_the_tightest_are_told() -> None:
    specs = [per_minute("tokens", 100, f"m{number}") for number in range(MOST + 9)]
    store, oa = MemoryLedger(now_ms), account(*specs)
    await store.define(oa.pool, specs)
    await store.admit(oa.pool, Entry((Ask("l", {"m20:tokens:60": 70}),)), dispatched=True)

    (told,) = await limits(store, [oa])

    assert (len(told["windows"]), told["more"]) == (MOST, 9)
    assert told["windows"][0]["window"] == "m20:tokens:60"


async def test_how_many_wait_is_told() -> None:
    store, oa = MemoryLedger(now_ms), account(per_minute("requests", 1))
    await store.define(oa.pool, [per_minute("requests", 1)])
    for lease in ("one", "two", "three"):
        entry = Entry((Ask(lease, {"*:requests:60": 1}),), Place(tenant="app"))
        await store.admit(oa.pool, entry, dispatched=True)

    (told,) = await limits(store, [oa])

    assert told["queued"] == 2
    assert told["windows"][0]["left"] == 0
