"""What only the ledger in Redis has: a server that can be away, many processes, a cluster."""

from __future__ import annotations

import multiprocessing
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from importlib.resources import files
from multiprocessing.queues import Queue
from typing import TypeVar

import anyio
import pytest

from gateway.stores.ledger import (
    Ask,
    Entry,
    Granted,
    Settlement,
    StoreLost,
    Unknown,
    Waiting,
)
from gateway.stores.redis import RedisLedger, RedisSettings, redis_ledger
from tests.contract.ledger_store.desk import bucket, gauge, money
from tests.gateway.stores.racing import ask_often
from tests.patience import PATIENCE_S, SOON_S
from tests.services.valkey import Valkey, valkey_cluster

T = TypeVar("T")

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> Iterator[Valkey]:
    """Start a server that the test may stop."""
    with Valkey() as own:
        yield own


@pytest.fixture(scope="module")
def cluster() -> Iterator[list[Valkey]]:
    with valkey_cluster() as nodes:
        yield nodes


@asynccontextmanager
async def opened(
    server: Valkey, *, deadline_s: float = 5.0, most_unsent: int = 10_000
) -> AsyncIterator[RedisLedger]:
    settings = RedisSettings([server.url], deadline_s=deadline_s, most_unsent=most_unsent)
    async with redis_ledger(settings) as ledger:
        yield ledger


def one(lease: str, **needs: int) -> Entry:
    return Entry((Ask(lease, needs),))


async def once_back(ask: Callable[..., Awaitable[T]], *what: object) -> T:
    """Ask until the server answers again."""
    with anyio.fail_after(PATIENCE_S):
        while True:
            try:
                return await ask(*what)
            except StoreLost:
                await anyio.sleep(0.05)


async def test_a_server_that_hangs_is_given_up_in_time_and_used_again_when_it_is_back(
    server: Valkey,
) -> None:
    async with opened(server, deadline_s=0.3) as ledger:
        await ledger.define("p", [gauge("flying", 5)])
        server.pause()
        with pytest.raises(StoreLost), anyio.fail_after(SOON_S):
            await ledger.admit("p", one("a", flying=1))
        server.resume()
        state = await once_back(ledger.peek, "p")
        assert state.windows[0].level == 5  # what nobody waits for any more was given back


async def test_a_server_that_answers_late_is_waited_for(server: Valkey) -> None:
    async with opened(server, deadline_s=PATIENCE_S) as ledger, anyio.create_task_group() as group:
        await ledger.define("p", [gauge("flying", 5)])
        server.pause()
        group.start_soon(_resumed_after, server, 0.1)
        assert (await ledger.peek("p")).windows[0].level == 5


async def _resumed_after(server: Valkey, seconds: float) -> None:
    await anyio.sleep(seconds)
    server.resume()


async def test_what_nobody_waits_for_is_carried_out_when_the_server_is_back(
    server: Valkey,
) -> None:
    async with opened(server) as ledger:
        await ledger.define("p", [money("usd", 1000)])
        await ledger.admit("p", one("a", usd=100))
        server.pause()
        ledger.settle("p", Settlement("a", {"usd": 30}))
        await anyio.sleep(0.05)
        server.resume()
        assert (await ledger.peek("p")).windows[0].level == 970


async def test_what_is_too_much_while_the_server_is_away_is_dropped_and_counted(
    server: Valkey,
) -> None:
    async with opened(server, deadline_s=0.2, most_unsent=10) as ledger:
        server.stop()
        for number in range(25):
            ledger.cancel("p", f"a{number}")
        assert ledger.dropped == 15


async def test_a_server_that_was_never_there_is_told_as_lost() -> None:
    settings = RedisSettings(["redis://127.0.0.1:1/0"], deadline_s=0.2)
    async with redis_ledger(settings) as ledger:
        with pytest.raises(StoreLost):
            await ledger.peek("p")


async def test_a_server_that_comes_back_empty_knows_no_window_and_takes_the_script_again(
    server: Valkey,
) -> None:
    async with opened(server) as ledger:
        await ledger.define("p", [gauge("flying", 5)])
        server.restart()
        assert await once_back(ledger.admit, "p", one("a", flying=1)) == Unknown("flying")
        await ledger.define("p", [gauge("flying", 5)])
        assert isinstance(await ledger.admit("p", one("a", flying=1)), Granted)


async def test_a_server_that_forgot_the_script_is_told_it_again(valkey: Valkey) -> None:
    async with opened(valkey) as ledger:
        await ledger.define("forgot", [gauge("flying", 5)])
        with valkey.client() as client:
            client.script_flush()
        ledger.cancel("forgot", "x")
        assert isinstance(await ledger.admit("forgot", one("a", flying=1)), Granted)


async def test_what_is_asked_together_goes_in_one_batch(valkey: Valkey) -> None:
    async with opened(valkey) as ledger:
        await ledger.define("batch", [gauge("flying", 500)])
        with valkey.client() as client:
            before = client.info("stats")["total_reads_processed"]
            async with anyio.create_task_group() as group:
                for number in range(100):
                    group.start_soon(ledger.admit, "batch", one(f"a{number}", flying=1))
            reads = client.info("stats")["total_reads_processed"] - before
        assert (await ledger.peek("batch")).windows[0].level == 400
        assert reads < 20


async def test_a_grant_wakes_the_replica_that_asked(valkey: Valkey) -> None:
    async with opened(valkey) as one_replica, opened(valkey) as other:
        with anyio.fail_after(PATIENCE_S):
            await one_replica.listening.wait()
        await one_replica.define("wake", [gauge("flying", 1)])
        await other.admit("wake", one("first", flying=1), dispatched=True)
        assert isinstance(await one_replica.admit("wake", one("a", flying=1)), Waiting)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(one_replica.wait, "wake", "a", 60.0)
                await anyio.wait_all_tasks_blocked()
                other.settle("wake", Settlement("first"))
        assert isinstance(await one_replica.check("wake", "a"), Granted)


async def test_every_key_of_a_pool_is_of_one_slot_and_none_stays_for_ever(valkey: Valkey) -> None:
    async with opened(valkey) as ledger:
        pool = "up:ttl"
        await ledger.define(pool, [gauge("g", 1), bucket("tok", 6000), money("usd", 99)])
        await ledger.admit(pool, one("a", g=1, tok=5, usd=1), dispatched=True)
        await ledger.admit(pool, one("b", g=1, tok=5, usd=1))
        await ledger.admit(pool, one("c", g=1))
        ledger.settle(pool, Settlement("a", row="r"))
        await ledger.peek(pool)
        with valkey.client() as client:
            keys = [key for key in client.scan_iter() if "up:ttl" in key]
            assert len(keys) > 12
            assert all(key.startswith("lg:{up:ttl}:") for key in keys)
            assert [key for key in keys if client.ttl(key) < 0] == []
            assert 0 < client.ttl("lg:{up:ttl}:w:tok") <= 8 * 86_400
            assert client.ttl("lg:{up:ttl}:m:usd") > 31 * 86_400


async def test_a_cluster_keeps_pools_on_all_of_its_nodes(cluster: list[Valkey]) -> None:
    settings = RedisSettings([node.url for node in cluster], cluster=True, deadline_s=PATIENCE_S)
    pools = [f"up:{number}" for number in range(12)]
    async with redis_ledger(settings) as ledger:
        with anyio.fail_after(PATIENCE_S):
            await ledger.listening.wait()
        async with anyio.create_task_group() as group:
            for pool in pools:
                group.start_soon(ledger.define, pool, [gauge("flying", 1)])
        for pool in pools:
            assert isinstance(await ledger.admit(pool, one("a", flying=1)), Granted)
            assert isinstance(await ledger.admit(pool, one("b", flying=1)), Waiting)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                for pool in pools:
                    group.start_soon(ledger.wait, pool, "b", 60.0)
                await anyio.wait_all_tasks_blocked()
                for pool in pools:
                    ledger.settle(pool, Settlement("a"))
        for pool in pools:
            assert isinstance(await ledger.check(pool, "b"), Granted)
    for node in cluster:
        with node.client() as client:
            assert client.dbsize() > 0


async def test_eight_processes_are_granted_exactly_what_there_is(valkey: Valkey) -> None:
    spawned = multiprocessing.get_context("spawn")
    async with opened(valkey) as ledger:
        forever = 10**15
        await ledger.define("race", [bucket("tok", 50_000, forever), bucket("req", 9999, forever)])
        told: Queue[int] = spawned.Queue()
        processes = [
            spawned.Process(target=ask_often, args=(valkey.url, number, told))
            for number in range(8)
        ]
        for process in processes:
            process.start()
        counts = [await anyio.to_thread.run_sync(told.get) for _ in processes]
        for process in processes:
            process.join()
        assert sum(counts) == (50_000 - 500) // 500
        assert (await ledger.peek("race")).windows[1].held == 49_500


def test_the_script_is_shipped_with_the_package() -> None:
    names = {path.name for path in files("gateway.stores.redis").iterdir()}
    assert {"windows.lua", "leases.lua", "queue.lua", "operations.lua"} <= names


async def test_an_operation_that_fails_spoils_no_other_of_its_moment(server: Valkey) -> None:
    async with opened(server) as ledger:
        await ledger.define("p", [gauge("flying", 5)])
        ledger.extend("p", "nobody", {"flying": 1})
        ledger._push("p", "no such operation", {})
        assert isinstance(await ledger.admit("p", one("a", flying=1)), Granted)
        with pytest.raises(StoreLost):
            await ledger._ask("p", "no such operation", {})
        assert (await ledger.peek("p")).windows[0].level == 4


async def test_many_operations_of_one_pool_are_answered_each_and_in_order(server: Valkey) -> None:
    async with opened(server) as ledger:
        await ledger.define("p", [gauge("flying", 30)])
        answers: list[object] = []

        async def ask(number: int) -> None:
            answers.append(await ledger.admit("p", one(f"a{number}", flying=1)))

        async with anyio.create_task_group() as group:
            for number in range(40):
                group.start_soon(ask, number)
        assert [isinstance(answer, Granted) for answer in answers] == [True] * 30 + [False] * 10
