from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from redis.asyncio import Redis

from gateway.stores.changes import Changes, LocalChanges, NoAnnouncements
from gateway.stores.redis.changes import RedisAnnouncements, RedisChanges
from tests.services.valkey import Valkey, valkey_cluster

NOBODY_S = 20.0


@asynccontextmanager
async def over_redis(port: int) -> AsyncGenerator[RedisChanges, None]:
    client = Redis(host="127.0.0.1", port=port)
    try:
        yield RedisChanges(client)
    finally:
        await client.aclose()


async def told(teller: Changes, hearer: Changes) -> float:
    """Return how long it takes to be told of a change."""
    async with hearer.subscribe() as wait:
        await wait(0.2)  # by now it listens

        async def listen() -> None:
            await wait(NOBODY_S)

        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            await teller.publish()
        return anyio.current_time() - began


async def test_within_a_process_a_change_is_told_at_once() -> None:
    changes = LocalChanges()

    assert await told(changes, changes) == 0


async def test_without_a_change_it_is_the_time_that_passes() -> None:
    async with LocalChanges().subscribe() as wait:
        began = anyio.current_time()
        await wait(7)

        assert anyio.current_time() - began == 7


async def test_a_change_between_two_waits_is_not_missed() -> None:
    changes = LocalChanges()
    async with changes.subscribe() as wait:
        await wait(1)
        await changes.publish()
        began = anyio.current_time()
        await wait(7)

        assert anyio.current_time() == began


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_over_redis_every_replica_is_told(valkey: Valkey) -> None:
    async with over_redis(valkey.port) as one, over_redis(valkey.port) as other:
        assert await told(one, other) < NOBODY_S / 2
        assert await told(one, one) < NOBODY_S / 2


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_redis_nobody_fails_and_the_time_passes() -> None:
    async with over_redis(1) as changes, changes.subscribe() as wait:
        await changes.publish()
        began = anyio.current_time()
        await wait(0.1)

        assert anyio.current_time() - began >= 0.1


@asynccontextmanager
async def announcing(port: int) -> AsyncGenerator[RedisAnnouncements, None]:
    client = Redis(host="127.0.0.1", port=port, socket_timeout=5)
    try:
        yield RedisAnnouncements(client, f"test:{port}:config")
    finally:
        await client.aclose()


async def test_where_there_is_nobody_nothing_is_heard() -> None:
    there = NoAnnouncements()
    async with there.listen() as hear:
        await there.announce("a")
        began = anyio.current_time()

        assert await hear(7) is None
        assert anyio.current_time() - began == 7


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_over_redis_it_is_heard_at_once_and_by_who_comes_later(valkey: Valkey) -> None:
    with valkey.client() as client:
        client.delete(f"test:{valkey.port}:config")
    async with announcing(valkey.port) as one, announcing(valkey.port) as other:
        async with other.listen() as hear:
            assert await hear(0.05) is None
            await one.announce("a")
            assert await hear(NOBODY_S) == "a"
            assert await hear(0.05) == "a"
        await one.announce("b")
        async with other.listen() as hear:
            assert await hear(0.05) == "b"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_of_a_cluster_any_node_tells_who_listens_at_another() -> None:
    with valkey_cluster() as nodes:
        first, last = Redis(port=nodes[0].port), Redis(port=nodes[-1].port)
        async with RedisAnnouncements(last, "c").listen() as hear:
            assert await hear(0.2) is None
            await RedisAnnouncements(first, "c").announce("a")
            heard = await hear(NOBODY_S)
        assert await told(RedisChanges(first), RedisChanges(last)) < NOBODY_S / 2
        await first.aclose()
        await last.aclose()

    assert heard == "a"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_without_redis_nothing_is_heard_and_nobody_fails() -> None:
    async with announcing(1) as there, there.listen() as hear:
        await there.announce("a")
        assert await hear(0.05) is None
