"""The ledger in Redis, behind the interface that it shares with the one in memory."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import orjson
from redis.asyncio import Redis
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from gateway.stores.bells import Bells
from gateway.stores.ledger import (
    Amounts,
    Answer,
    Entry,
    PoolState,
    Refusal,
    Settlement,
    WindowReading,
    WindowSpec,
)
from gateway.stores.lost import LOST
from gateway.stores.redis import forms
from gateway.stores.redis.batches import Batches, Call
from techniques.core.groups import task_group

_CONNECT_S: Final = 1.0
_RECONNECT_S: Final = 0.5
_DRAIN_S: Final = 1.0
_ANSWER_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """Where the ledger is, and its bounds.

    Attributes:
        urls: One server, or some nodes of a cluster.
        prefix: What every key begins with.
        deadline_s: How long a server may be silent; see ``Batches``.
        most_unsent: How many operations that nobody waits for are kept while the server is away.
        queue: How many may wait in a pool, ``queue_of_tenant`` of them of one tenant.
    """

    urls: Sequence[str]
    cluster: bool = False
    prefix: str = "lg"
    deadline_s: float = 0.1
    most_unsent: int = 10_000
    queue: int = 1000
    queue_of_tenant: int = 250
    replica: str = field(default_factory=lambda: uuid.uuid4().hex)


@asynccontextmanager
async def redis_ledger(
    settings: RedisSettings, clock: Callable[[], int] | None = None
) -> AsyncGenerator[RedisLedger, None]:
    """Open the ledger; that the server is away is told by its operations.

    Args:
        settings: Where it is.
        clock: The time in milliseconds, for tests; otherwise the server's own is used.
    """
    client = connect(settings, None)  # a batch is waited for as a whole
    ledger = RedisLedger(client, settings, clock)
    try:
        async with task_group() as group:
            group.start_soon(ledger.batches.run)
            group.start_soon(ledger.batches.watch)
            group.start_soon(ledger.listen)
            yield ledger
            group.cancel_scope.cancel()
    finally:
        with anyio.move_on_after(_DRAIN_S, shield=True):
            await ledger.batches.drain()
            await client.aclose()


def connect(settings: RedisSettings, answer_s: float | None = _ANSWER_S) -> Redis | RedisCluster:
    """Return a client; it connects when it is first asked for something.

    It waits for an answer no longer than *answer_s*; None leaves that to whoever asks.
    """
    first, *others = settings.urls
    if not settings.cluster:
        return _single(first, answer_s)
    nodes = [parse_url(url) for url in others]
    return RedisCluster.from_url(
        first,
        startup_nodes=[ClusterNode(node["host"], node["port"]) for node in nodes],
        decode_responses=True,
        socket_connect_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 1),
    )


def _single(url: str, answer_s: float | None = _ANSWER_S) -> Redis:
    return Redis.from_url(
        url,
        decode_responses=True,
        socket_timeout=answer_s,
        socket_connect_timeout=_CONNECT_S,
        retry=Retry(NoBackoff(), 1),
    )


class RedisLedger:
    """Asks the script that keeps the windows. Made by ``redis_ledger``."""

    def __init__(
        self,
        client: Redis | RedisCluster,
        settings: RedisSettings,
        clock: Callable[[], int] | None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._channel = f"{settings.prefix}:replica:{settings.replica}"
        self._bells = Bells()
        self.listening = anyio.Event()
        self.batches = Batches(client, deadline_s=settings.deadline_s, most=settings.most_unsent)

    @property
    def dropped(self) -> int:
        """How many operations were dropped because the server was away too long."""
        return self.batches.dropped

    async def listen(self) -> None:
        """Ring for grants until cancelled; while that fails, waiters look by themselves."""
        urls, attempt = self._settings.urls, 0
        while True:
            client = _single(urls[attempt % len(urls)])
            attempt += 1
            try:
                async with client, client.pubsub() as channel:
                    await channel.subscribe(self._channel)
                    async for message in channel.listen():
                        if message["type"] == "subscribe":
                            self.listening.set()
                        elif message["type"] == "message":
                            self._bells.ring(message["data"])
            except LOST:
                await anyio.sleep(_RECONNECT_S)

    def _call(self, pool: str, operation: str, told: Mapping[str, Any]) -> Call:
        now = "" if self._clock is None else str(self._clock())
        key = f"{self._settings.prefix}:{{{pool}}}"
        return Call(key, now, operation, orjson.dumps(told))

    async def _ask(self, pool: str, operation: str, told: Mapping[str, Any]) -> Any:
        return (await self.batches.ask([self._call(pool, operation, told)]))[0]

    def _push(self, pool: str, operation: str, told: Mapping[str, Any]) -> None:
        self.batches.push(self._call(pool, operation, told))

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        """See ``LedgerStore``."""
        await self._ask(pool, "define", {"windows": forms.specs(windows)})

    async def admit(self, pool: str, entry: Entry, *, dispatched: bool = False) -> Answer:
        """See ``LedgerStore``."""
        return (await self._admit([(pool, entry)], dispatched=dispatched))[0]

    async def admit_both(
        self, first: tuple[str, Entry], second: tuple[str, Entry], *, dispatched: bool = False
    ) -> tuple[Answer, Answer]:
        """See ``LedgerStore``."""
        one, other = await self._admit([first, second], dispatched=dispatched)
        return one, other

    async def _admit(
        self, entries: Sequence[tuple[str, Entry]], *, dispatched: bool
    ) -> list[Answer]:
        calls = [
            self._call(
                pool,
                "admit",
                {
                    **forms.asked(entry, dispatched=dispatched),
                    "channel": self._channel,
                    "ring": _bell(pool, entry.id),
                    "most": self._settings.queue,
                    "most_of_tenant": self._settings.queue_of_tenant,
                },
            )
            for pool, entry in entries
        ]
        try:
            return [forms.answer(told) for told in await self.batches.ask(calls)]
        except BaseException:  # nobody will use what may have been granted
            for (pool, entry), call in zip(entries, calls, strict=True):
                call.given_up = True
                if call.sent:
                    self.leave(pool, entry.id)
                    for ask in entry.asks:
                        self.cancel(pool, ask.lease)
            raise

    async def check(self, pool: str, entry: str) -> Answer:
        """See ``LedgerStore``."""
        self._bells.forget(_bell(pool, entry))
        return forms.answer(await self._ask(pool, "check", {"id": entry}))

    async def wait(self, pool: str, entry: str, timeout_s: float) -> None:
        """See ``LedgerStore``."""
        await self._bells.wait(_bell(pool, entry), timeout_s)

    def leave(self, pool: str, entry: str) -> None:
        """See ``LedgerStore``."""
        self._bells.forget(_bell(pool, entry))
        self._push(pool, "leave", {"id": entry})

    def dispatch(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "dispatch", {"leases": list(leases)})

    def renew(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "renew", {"leases": list(leases)})

    def extend(self, pool: str, lease: str, more: Amounts) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "extend", {"id": lease, "more": forms.amounts(more)})

    def tell(self, pool: str, lease: str, readings: Sequence[WindowReading]) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "tell", {"id": lease, "readings": forms.readings(readings)})

    def settle(self, pool: str, settlement: Settlement) -> None:
        """See ``LedgerStore``."""
        told = {
            "id": settlement.lease,
            "used": forms.used(settlement.used),
            "readings": forms.readings(settlement.readings),
        }
        row = {} if settlement.row is None else {"row": settlement.row}
        self._push(pool, "settle", {**told, **row})

    def cancel(self, pool: str, lease: str) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "cancel", {"id": lease})

    def reject(self, pool: str, refusal: Refusal) -> None:
        """See ``LedgerStore``."""
        told: dict[str, Any] = {
            "id": refusal.lease,
            "counts": refusal.counts,
            "readings": forms.readings(refusal.readings),
        }
        if refusal.window is not None:
            told["window"] = refusal.window
        if refusal.retry_after_ms is not None:
            told["retry_after"] = refusal.retry_after_ms
        self._push(pool, "reject", told)

    async def peek(self, pool: str) -> PoolState:
        """See ``LedgerStore``."""
        return forms.pool_state(await self._ask(pool, "peek", {}))

    async def rows(self, pool: str, most: int, older_ms: int) -> Sequence[tuple[str, str]]:
        """See ``LedgerStore``."""
        found = await self._ask(pool, "rows", {"most": most, "older": older_ms})
        return [(lease, row) for lease, row in found]

    def acknowledge(self, pool: str, leases: Sequence[str]) -> None:
        """See ``LedgerStore``."""
        self._push(pool, "acknowledge", {"leases": list(leases)})


def _bell(pool: str, entry: str) -> str:
    return f"{pool}\n{entry}"
