"""Opens what lasts: the database, who writes into it, and the keys that are read from it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from gateway.config import Config, Secrets
from gateway.metering.meters.durable import DurableRows
from gateway.metering.spool import Reader
from gateway.policy.callers import configured
from gateway.policy.key_book import KeyBook
from gateway.policy.keys import Caller, Door, KeyRing, OpenDoor
from gateway.policy.register import Known, Register
from gateway.stores.changes import Announcements, Changes, LocalChanges, NoAnnouncements
from gateway.stores.database.engine import Database, DatabaseUnusable, holds_keys, opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.owners import OwnerTables
from gateway.stores.database.writer import Result, RowWriter
from techniques import catalog
from techniques.core.groups import task_group
from techniques.core.registry import load

if TYPE_CHECKING:
    from redis.asyncio import Redis


@dataclass(frozen=True, slots=True)
class Durable:
    """What a database is used for."""

    register: Register
    ledger: LedgerTable
    writer: RowWriter
    database: Database


@dataclass(frozen=True, slots=True)
class Kept:
    """Who is let in, which meters there are, and what lasts: None without a database.

    The door is one for the life of the process; who is let in by it may change.
    """

    door: Door
    meters: tuple[Reader, ...] = ()
    durable: Durable | None = None

    @property
    def database(self) -> Database | None:
        """The database, None without one."""
        return None if self.durable is None else self.durable.database

    def durable_of(self, config: Config) -> Durable | None:
        """Return what a database is used for under *config*, None without one."""
        if self.durable is None:
            return None
        register = replace(self.durable.register, config=config, known=_known(config))
        return replace(self.durable, register=register)

    def configure(self, config: Config) -> None:
        """Let in who has a key of *config*, beside those who have one of the database."""
        match self.door:
            case KeyBook():
                self.door.configure(configured(config))
            case _Configured():
                self.door.configure(config)
            case _:
                pass


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
        yield Kept(_Configured(config, secrets))
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
    if given is not None or config.store.redis is None:
        yield given or LocalChanges()
        return
    from gateway.stores.redis.changes import RedisChanges

    async with _connected(config.store.redis) as client:
        yield RedisChanges(client, f"{config.store.prefix}:changes")


@asynccontextmanager
async def announcing(config: Config) -> AsyncGenerator[Announcements, None]:
    """Open what tells replicas that share a store which configuration there is."""
    if config.store.redis is None:
        yield NoAnnouncements()
        return
    from gateway.stores.redis.changes import RedisAnnouncements

    async with _connected(config.store.redis) as client:
        yield RedisAnnouncements(client, f"{config.store.prefix}:config")


@asynccontextmanager
async def _connected(address: SecretStr) -> AsyncGenerator[Redis, None]:
    """Connect to the store. Of a cluster any node does: who listens at another is told, too."""
    from redis.asyncio import Redis as Client  # it takes long to import; most need none of it

    first, *_ = address.get_secret_value().split(",")
    client = Client.from_url(first)
    try:
        yield client
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
    owners = OwnerTables(database)
    register = Register(config, secrets.key_secret, _known(config), owners, ledger, changes)
    return Durable(register, ledger, RowWriter(ledger, count), database)


def _known(config: Config) -> Known:
    models = {model.name for model in config.models}
    return Known(models, frozenset(load(catalog)) | {"none", "auto"})


class _Configured:
    """The keys of a configuration alone; without any everyone is let in."""

    def __init__(self, config: Config, secrets: Secrets) -> None:
        self._secrets = secrets
        self._door: Door
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Let in who has a key of *config*."""
        secret = self._secrets.key_secret
        assert secret is not None or not config.keys, "checked when the configuration was"
        self._door = KeyRing(secret or "", configured(config)) if config.keys else OpenDoor()

    async def caller(self, headers: Mapping[str, str]) -> Caller:
        """Return who calls; see ``Door``."""
        return await self._door.caller(headers)

    def named(self, name: str | None) -> Caller | None:
        """Return whose key is called *name*, None if there is no such key."""
        return self._door.named(name)
