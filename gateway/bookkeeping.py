"""Opens what runs are written down in, and carries out what nobody waits for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

from gateway.attention.board import Board
from gateway.config import Config
from gateway.doubting import asked_of_people
from gateway.keeping import Durable, Kept
from gateway.runs.book import RunBook
from gateway.runs.wanted import RunPolicy
from gateway.runs.watching import watch
from gateway.stores.journal.apart import ApartJournal
from gateway.stores.journal.journal import Journal
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.seal import Seal
from gateway.stores.journal.sealed import SealedJournal
from techniques.core.groups import task_group

_MOST_WAIT_S: Final = 5.0
"""How long Redis may take to answer."""


@asynccontextmanager
async def bookkeeping(
    config: Config,
    kept: Kept,
    board: Board | None,
    show: Callable[[int, int], None] = lambda _suspended, _overdue: None,
) -> AsyncGenerator[RunBook | None, None]:
    """Open what *config* says; leaving breaks off what is under way, so that it can go on later.

    Runs of keys that are to be kept apart are in the memory of this process. On *board* somebody is
    asked about calls that may have been paid for. *show* is told now and then how many runs are
    put away, and how many of them are overdue.
    """

    def is_apart(owner: str) -> bool:
        caller = kept.door.named(owner or None)
        return caller is not None and caller.kept_apart

    stated = config.journal
    if stated.durability == "off":
        yield None
        return
    policy = RunPolicy(
        lease_s=stated.lease_s,
        linger_s=stated.linger_s,
        retention_s=stated.retention,
        ambiguous=stated.ambiguous,
        attach_s=stated.attach_s,
        continues=stated.resume_stream == "prefill",
        questions=asked_of_people(config, board, kept.door),
    )
    async with journal_of(config, kept.durable) as journal, task_group() as group:
        book = RunBook(ApartJournal(journal, MemoryJournal(), is_apart), policy)
        await group.start(book.floor.serve)
        group.start_soon(watch, book.journal, show)
        try:
            yield book
        finally:
            book.floor.break_off()
            group.cancel_scope.cancel()


@asynccontextmanager
async def journal_of(config: Config, durable: Durable | None) -> AsyncGenerator[Journal, None]:
    """Open the journal that *config* asks for; without a database it is in memory.

    What lasts longer than the process is encrypted if there is a key for it.
    """
    stated, store = config.journal, config.store
    seal = Seal(stated.keys)
    if stated.durability == "redis":
        assert store.redis is not None, "checked when the configuration was"
        from redis.asyncio import Redis  # it takes long to import, and most gateways need none
        from redis.asyncio.cluster import RedisCluster

        from gateway.stores.journal.redis import RedisJournal

        kind = RedisCluster if store.cluster else Redis
        client = kind.from_url(store.redis.get_secret_value(), socket_timeout=_MOST_WAIT_S)
        try:
            yield SealedJournal(RedisJournal(client, store.prefix, stated.retention), seal)
        finally:
            await client.aclose()
    elif stated.durability == "database" and durable is not None:
        from gateway.stores.journal.sql import sql_journal

        async with sql_journal(durable.database, config.database.url) as journal:
            yield SealedJournal(journal, seal)
    else:
        yield MemoryJournal()
