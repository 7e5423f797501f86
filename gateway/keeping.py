"""Opens what lasts: the database, who writes into it, and the keys that are read from it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from gateway.config import Config, Secrets
from gateway.metering.meters.durable import DurableRows
from gateway.metering.spool import Reader
from gateway.policy.callers import configured
from gateway.policy.key_book import KeyBook
from gateway.policy.keys import Door, KeyRing, OpenDoor
from gateway.policy.register import Known, Register
from gateway.stores.changes import Changes, LocalChanges
from gateway.stores.database.engine import Database, DatabaseUnusable, holds_keys, opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.writer import Result, RowWriter
from techniques import catalog
from techniques.core.groups import task_group
from techniques.core.registry import load


@dataclass(frozen=True, slots=True)
class Durable:
    """What a database is used for."""

    register: Register
    ledger: LedgerTable
    writer: RowWriter
    database: Database


@dataclass(frozen=True, slots=True)
class Kept:
    """Who is let in, which meters there are, and what lasts: None without a database."""

    door: Door
    meters: tuple[Reader, ...] = ()
    durable: Durable | None = None

    @property
    def database(self) -> Database | None:
        """The database, None without one."""
        return None if self.durable is None else self.durable.database


@asynccontextmanager
async def keeping(
    config: Config,
    secrets: Secrets,
    count: Callable[[Result, int], None],
    changes: Changes | None = None,
) -> AsyncGenerator[Kept, None]:
    """Open what *config* says; leaving writes what waits, and closes it.

    *changes* tell other replicas; None: those of the shared store, without one they find out by
    themselves, within a second.

    Raises:
        DatabaseUnusable: It cannot be opened, or has keys that nothing is known to check them by.
    """
    if not config.database.kept:
        yield Kept(_door(config, secrets))
        return
    async with (
        _told(config, changes) as changes,
        opened(config.database.url, pool=config.database.pool) as database,
    ):
        durable = _durable(config, secrets, database, changes, count)
        book = KeyBook(secrets.key_secret, configured(config), durable.register.owners)
        await book.refresh()
        if not (book.is_open or secrets.key_secret):
            raise DatabaseUnusable(_NO_SECRET)
        async with task_group() as group:
            group.start_soon(durable.writer.run)
            group.start_soon(book.run, changes)
            try:
                yield Kept(book, (DurableRows(durable.writer.put),), durable)
            finally:
                await durable.writer.finish()
                group.cancel_scope.cancel()


@asynccontextmanager
async def _told(config: Config, given: Changes | None) -> AsyncGenerator[Changes, None]:
    store = config.store
    if given is not None or store.redis is None or store.cluster:
        yield given or LocalChanges()
        return
    from redis.asyncio import Redis  # it takes long to import, and most gateways need none of it

    from gateway.stores.redis.changes import RedisChanges

    client = Redis.from_url(store.redis.get_secret_value())
    try:
        yield RedisChanges(client, f"{store.prefix}:changes")
    finally:
        await client.aclose()


async def prepared(config: Config, secrets: Secrets) -> bool:
    """Bring the database to its present shape before anything is served.

    Return whether there are keys.

    Raises:
        DatabaseUnusable: As ``keeping`` raises it.
    """
    if config.database.kept:
        async with keeping(config, secrets, _uncounted):
            pass
    return bool(config.keys) or await stored_keys(config)


async def stored_keys(config: Config) -> bool:
    """Return whether the database, as it is, has keys.

    Raises:
        DatabaseUnusable: It cannot be reached.
    """
    return config.database.kept and await holds_keys(config.database.url)


_NO_SECRET: Final = "it has keys: set LOCKGATE_KEY_SECRET, the secret that they were made with"


@asynccontextmanager
async def registering(config: Config, secrets: Secrets) -> AsyncGenerator[Register, None]:
    """Open the database of *config* to list and change what is registered there.

    Raises:
        DatabaseUnusable: It cannot be opened, or there is none.
    """
    if not config.database.kept:
        raise DatabaseUnusable("database.url is none: keys are kept in the configuration only")
    async with opened(config.database.url, pool=config.database.pool) as database:
        yield _durable(config, secrets, database, LocalChanges(), _uncounted).register


def _uncounted(_result: Result, _number: int) -> None:
    pass


def _durable(  # noqa: PLR0917 - all of it is handed on
    config: Config,
    secrets: Secrets,
    database: Database,
    changes: Changes,
    count: Callable[[Result, int], None],
) -> Durable:
    ledger = LedgerTable(database)
    models = {model.name for model in config.models}
    known = Known(models, frozenset(load(catalog)) | {"none", "auto"})
    owners = OwnerTables(database)
    register = Register(config, secrets.key_secret, known, owners, ledger, changes)
    return Durable(register, ledger, RowWriter(ledger, count), database)


def _door(config: Config, secrets: Secrets) -> Door:
    if not config.keys:
        return OpenDoor()
    assert secrets.key_secret is not None, "checked when the configuration was"
    return KeyRing(secrets.key_secret, configured(config))
