"""Opens the ledger that the configuration asks for: one process's own, or a shared one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from gateway.config.pacing import QueueConfig, StoreConfig
from gateway.stores.guarded import GuardedLedger, LossPolicy, Timed, Told
from gateway.stores.ledger import LedgerStore
from gateway.stores.memory import MemoryLedger
from gateway.stores.memory.admitting import QueueLimits
from techniques.core.groups import task_group


@asynccontextmanager
async def ledger_of(
    store: StoreConfig, queue: QueueConfig, workers: int, seen: tuple[Told, Timed]
) -> AsyncGenerator[LedgerStore, None]:
    """Open the ledger; *seen* is told that a shared one is away, or back, and how long it takes.

    Where nothing is shared, each of several *workers* has its part of everything.
    """
    if store.redis is None:
        limits = QueueLimits(queue.depth, queue.depth_per_key)
        yield MemoryLedger(share=1 / workers, limits=limits)
        return
    from gateway.stores.redis.replicas import Replicas  # redis takes long to import
    from gateway.stores.redis.store import RedisSettings, redis_ledger

    settings = RedisSettings(
        urls=store.redis.get_secret_value().split(","),
        cluster=store.cluster,
        prefix=store.prefix,
        queue=queue.depth,
        queue_of_tenant=queue.depth_per_key,
    )
    replicas = Replicas(settings)
    policy = LossPolicy(store.on_loss.windows, store.on_loss.budgets, *seen)
    async with redis_ledger(settings) as shared, task_group() as group:
        group.start_soon(replicas.serve)
        yield GuardedLedger(shared, policy, lambda: replicas.count)
        group.cancel_scope.cancel()
