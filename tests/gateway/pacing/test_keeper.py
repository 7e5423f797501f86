"""Leases that outlive their first minute, and what is learned of other replicas' windows."""

from __future__ import annotations

import anyio
import pytest
from prometheus_client import CollectorRegistry

from gateway.metering.ledger import CallHeld, HeaderUnread, LimitHit, NeedMet
from gateway.metering.meters.pacing import PacingMeter
from gateway.pacing.keeper import Keeper
from gateway.stores.ledger import PoolState, WindowSpec
from techniques.core.channel import ask
from techniques.core.groups import task_group
from tests.gateway.pacing.provider import Answer, Provider
from tests.gateway.pacing.scene import QUESTION, Paced, per_minute

AT_ONCE = WindowSpec("*:concurrency:0", "gauge", 5)


def keeper(paced: Paced, seen: list[tuple[str, PoolState]] | None = None) -> Keeper:
    looks = seen if seen is not None else []
    return Keeper(
        paced.pacer, lambda: [paced.account], lambda name, state: looks.append((name, state))
    )


async def test_a_call_that_lasts_for_minutes_keeps_what_it_holds() -> None:
    paced = Paced((AT_ONCE,))
    async with task_group() as group:
        group.start_soon(keeper(paced).serve)
        group.start_soon(ask, paced.channel(Provider(Answer(takes_s=400))), QUESTION)
        await anyio.sleep(300)

        state = await paced.store.peek(paced.account.pool)
        assert (state.leases, state.windows[0].held, state.orphans) == (1, 1, 0)
        await anyio.sleep(101)
        assert (await paced.store.peek(paced.account.pool)).leases == 0
        group.cancel_scope.cancel()


async def test_without_a_keeper_a_lost_call_gives_its_place_back() -> None:
    paced = Paced((AT_ONCE,))
    async with task_group() as group:
        group.start_soon(ask, paced.channel(Provider(Answer(takes_s=400))), QUESTION)
        await anyio.sleep(200)

        state = await paced.store.peek(paced.account.pool)
        assert (state.leases, state.windows[0].held, state.orphans) == (0, 0, 1)
        group.cancel_scope.cancel()


async def test_an_answer_that_outgrows_its_hold_holds_more_and_is_not_ended() -> None:
    paced = Paced((per_minute("tokens", 100_000),))
    provider = Provider(Answer(text="word" * 8000, takes_s=30))
    async with task_group() as group:
        group.start_soon(keeper(paced).serve)
        group.start_soon(ask, paced.channel(provider), QUESTION)
        await anyio.sleep(10)

        (window,) = (await paced.store.peek(paced.account.pool)).windows
        assert 8000 <= window.held <= 10_500
        group.cancel_scope.cancel()


async def test_what_other_replicas_know_of_an_account_is_learned() -> None:
    paced = Paced()
    seen: list[tuple[str, PoolState]] = []
    await paced.store.define(paced.account.pool, [per_minute("requests", 7, "real-fast")])

    await keeper(paced, seen).look()

    assert paced.account.needs("real-fast", {"requests": 1}) == {"real-fast:requests:60": 1}
    assert paced.account.needs("another", {"requests": 1}) == {}
    assert [name for name, _ in seen] == ["acme"]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, labels)


def test_pauses_and_resumes_are_metrics(registry: CollectorRegistry) -> None:
    meter = PacingMeter(registry, [("fast", "acme")], {})

    meter(
        [
            CallHeld("fast", "acme", "requests", 3.0, "resumed"),
            CallHeld("fast", "acme", "tokens", 9.0, "given_back"),
            LimitHit("fast", "acme", expected=False),
            NeedMet("fast", 300, 200, missed=True),
            HeaderUnread("acme", "retry-after"),
        ]
    )

    call = {"model": "fast", "provider": "acme"}
    assert value(registry, "lockgate_resumes_total", **call) == 1
    assert value(registry, "lockgate_429_avoided_total", **call) == 2
    assert value(registry, "lockgate_upstream_429_total", **call, expected="false") == 1
    assert value(registry, "lockgate_upstream_429_total", **call, expected="true") == 0
    assert value(registry, "lockgate_pause_seconds_sum", **call, reason="tokens") == 9
    assert value(registry, "lockgate_need_misses_total", model="fast") == 1
    assert value(registry, "lockgate_header_unparsed_total", provider="acme", header="retry-after")


async def test_only_configured_models_become_labels(registry: CollectorRegistry) -> None:
    meter = PacingMeter(registry, [("fast", "acme")], {("acme", "real-fast"): "fast"})
    paced = Paced()
    specs = [per_minute("tokens", 200, name) for name in ("*", "real-fast", "made-up")]
    await paced.store.define(paced.account.pool, specs)

    meter.look("acme", await paced.store.peek(paced.account.pool))

    of = {"provider": "acme", "dimension": "tokens", "period": "60"}
    assert value(registry, "lockgate_window_remaining_ratio", **of, model="fast") == 1
    assert value(registry, "lockgate_window_remaining_ratio", **of, model="*") == 1
    shown = [s.labels["model"] for m in registry.collect() if "ratio" in m.name for s in m.samples]
    assert "made-up" not in shown
