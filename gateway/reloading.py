"""Serves another configuration without a restart: reads it, judges it, puts it in place at once.

A configuration that is not fit changes nothing. Who is told to reload tells the replicas that share
its store; each of them reads its own file, and again for a while, for files take a moment to come.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Final, Literal, TypeAlias

import anyio
import anyio.to_thread
import structlog

from gateway.clock import loop_time, utc_now
from gateway.config import Config, Secrets
from gateway.config.lasting import differences, digest, kept
from gateway.config.schema import unknown_names
from gateway.fetching import fetched
from gateway.keeping import announcing, stored_keys
from gateway.loading import Unfit, judge, read, stamp
from gateway.metering.meters.reloads import Outcome
from gateway.preflight import remarks
from gateway.pricelist import guesses
from gateway.stores.changes import Announcements, Hear, NoAnnouncements
from gateway.stores.database.engine import DatabaseUnusable
from gateway.surfaces.reload import Reload
from gateway.upstream.ways import ways_of
from gateway.wiring import Parts
from techniques.core.groups import task_group

Cause: TypeAlias = Literal["admin", "signal", "replica"]
_LOOK_S: Final = 5.0
_FOLLOW_S: Final = 120.0
"""How long a replica that was told looks whether its own file has come."""
_SHOWN: Final = 12

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Reread:
    """A configuration that can be served: it, and the settings that want a restart.

    ``of`` is its digest, and that of what is fetched for it. ``notes`` tell what could not be.
    """

    config: Config
    waiting: list[str]
    of: tuple[str, str]
    notes: tuple[str, ...] = ()


async def reread(file: Path | None, served: Config, known: Secrets) -> Reread:
    """Return what of the configuration in *file* can take the place of the one that is *served*.

    Raises:
        Unfit: It cannot be used.
    """
    stated = await anyio.to_thread.run_sync(read, file, known)
    config, waiting = kept(stated, served)
    if problems := list(unknown_names(config)):  # what waits for a restart may have named them
        raise Unfit(problems)
    await judge(stated, known)
    if waiting:
        await judge(config, known)
    await _stays_closed(config, served)
    warning = await fetched(config.pricing.catalogue, ways_of(config.upstream))
    of = await anyio.to_thread.run_sync(_digests, config)
    return Reread(config, waiting, of, (warning,) if warning else ())


async def _stays_closed(config: Config, served: Config) -> None:
    """See that *config* does not let in everyone where *served* wanted a key.

    A file whose end is not written yet looks as if it had no keys.

    Raises:
        Unfit: It does.
    """
    if not served.keys or config.keys:
        return
    try:
        stored = await stored_keys(config)
    except DatabaseUnusable as error:
        raise Unfit([f"database.url: {error}"]) from error
    if not stored:
        raise Unfit(["keys: there is none any more, and anyone could call; that wants a restart"])


def _digests(config: Config) -> tuple[str, str]:
    """Return by what *config* is known, with the files that it names, and what is fetched for it.

    The latter changes by itself, and with the day on which prices are looked up.
    """
    pricing = config.pricing
    named = (config.reliability.calibration, pricing.prices, *pricing.tables)
    place = pricing.catalogue.place if pricing.catalogue else None
    try:
        beside = b"\0".join(file.read_bytes() for file in named if file is not None)
        catalogue = place.read_bytes() if place is not None and place.exists() else b""
    except OSError as error:
        raise Unfit([str(error)]) from error
    today = str(utc_now().date()).encode()
    return digest(config, beside), hashlib.sha256(today + catalogue).hexdigest()


@dataclass(slots=True)
class _Now:
    """What is served, since when, and how the last reload went."""

    parts: Parts
    of: tuple[str, str]
    epoch: int = 1
    loaded: float = field(default_factory=lambda: utc_now().timestamp())
    waiting: list[str] = field(default_factory=list)
    errors: tuple[str, ...] = ()
    outcome: Outcome = "applied"

    @property
    def digest(self) -> str:
        """By what it is known everywhere."""
        return self.of[0]


class Reloader:
    """One for the process. *applied* is told when another configuration has been put in place."""

    def __init__(
        self,
        file: Path | None,
        known: Secrets,
        opened: Callable[[], AbstractAsyncContextManager[Parts]],
        applied: Callable[[], None] = lambda: None,
    ) -> None:
        self._file = None if file is None else file.absolute()
        self._known = known
        self._opened = opened
        self._applied = applied
        self._said = ""
        self._signalled = self._unfit = False
        self._woken = anyio.Event()
        self._turn = anyio.Lock()  # one after the other: a reload waits while it is prepared
        self._served: _Now | None = None
        self._announced: Announcements = NoAnnouncements()
        self.show: Callable[[Parts], None] = lambda _parts: None
        """Shows parts to who comes; set by who serves them."""

    @property
    def _now(self) -> _Now:
        assert self._served is not None, "nothing is reloaded before something is served"
        return self._served

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[Parts, None]:
        """Open the first parts; while they are open, reload when told to."""
        async with self._opened() as parts:
            self._served = _Now(parts, await anyio.to_thread.run_sync(_digests, parts.config))
            self._shows()
            async with (
                announcing(parts.config) as self._announced,
                self._announced.listen() as hear,
                task_group() as group,
            ):
                group.start_soon(self._obey)
                group.start_soon(self._follow, hear)
                yield parts
                group.cancel_scope.cancel()

    def signal(self, *, unfit: bool = False) -> None:
        """Note that a signal asks for a reload; may be called at any moment, before all else.

        *unfit*: the parent found that it cannot be done, and knows of nothing that changes.
        """
        self._signalled = True
        self._unfit |= unfit

    def tick(self) -> None:
        """Begin what a signal asked for."""
        if self._signalled:
            self._signalled = False
            self._woken.set()

    def told(self) -> Reload:
        """Return what is served, and how the last reload went."""
        now = self._now
        return Reload(now.outcome, now.epoch, now.digest, now.loaded, now.waiting, now.errors)

    async def reload(self) -> Reload:
        """Serve what the file says now, here and at the replicas."""
        return await self._reload("admin")

    async def _obey(self) -> None:
        """Reload when a signal asks for it, until cancelled."""
        while True:
            await self._woken.wait()
            self._woken = anyio.Event()
            unfit, self._unfit = self._unfit, False
            await self._guarded("signal", tells=unfit)

    async def _follow(self, hear: Hear) -> None:
        """Reload when another replica has, until cancelled; where the file lags, when it comes.

        What is told by the same name may have other secrets, so it is looked at, once.
        """
        heard: str | None = None
        until = 0.0
        seen: tuple[int, ...] | None = None
        while True:
            before, heard = heard, await hear(_LOOK_S)
            if heard is None or heard == self._said:
                continue
            if heard != before:
                until, seen = loop_time() + _FOLLOW_S, None
            elif loop_time() > until or heard.startswith(self._now.digest):
                continue
            found = await anyio.to_thread.run_sync(stamp, self._file)
            if found != seen:
                seen = found
                await self._guarded("replica")

    async def _guarded(self, cause: Cause, *, tells: bool = True) -> None:
        try:
            await self._reload(cause, tells=tells)
        except Exception:  # noqa: BLE001 - one of the boundaries: a service goes on
            _log.exception("config.failed", cause=cause)

    async def _reload(self, cause: Cause, *, tells: bool = True) -> Reload:
        """Reload; it *tells* of another configuration who does not know of it yet."""
        async with self._turn:
            done = await self._replaced()
            meter = self._now.parts.house.lasting.counts.reloads
            if cause != "replica" or done.outcome != "unchanged":
                meter.reloaded(done.outcome)
                _tell(done, cause)
        if done.outcome == "applied":
            if cause != "replica":
                self._said = f"{done.digest} {token_hex(4)}"
                await self._announced.announce(self._said)
            if tells:
                self._applied()
        return done

    async def _replaced(self) -> Reload:
        """Put what the file says in place of what is served, if it is fit and another."""
        now = self._now
        try:
            read_now = await reread(self._file, now.parts.config, self._known)
            now.outcome, now.errors, now.waiting = "unchanged", (), read_now.waiting
            if (read_now.config, read_now.of) == (now.parts.config, now.of):
                return self.told()
            parts, notes = await self._prepared(read_now.config)
        except Unfit as unfit:
            now.outcome, now.errors = "refused", unfit.lines
            return self.told()
        changed = tuple(differences(now.parts.config, parts.config))
        epoch = now.epoch + 1
        self._served = _Now(parts, read_now.of, epoch, waiting=read_now.waiting)
        await parts.house.adopt(parts, self.show)
        self._shows()
        return replace(self.told(), changed=changed, notes=(*read_now.notes, *notes))

    async def _prepared(self, config: Config) -> tuple[Parts, tuple[str, ...]]:
        """Return what *config* makes, and what an operator should know of it."""
        try:
            parts = await self._now.parts.house.prepare(config)
            notes = await anyio.to_thread.run_sync(remarks, config, self._known)
            notes += await anyio.to_thread.run_sync(guesses, config)
            return parts, tuple(notes)
        except (OSError, ValueError) as error:
            raise Unfit(str(error).splitlines()) from error

    def _shows(self) -> None:
        now = self._now
        now.parts.house.lasting.counts.reloads.serves(now.epoch, now.digest, now.loaded)


def _tell(done: Reload, cause: Cause) -> None:
    """Write down how a reload went: paths, never what stands there."""
    if done.outcome == "refused":
        _log.error("config.refused", cause=cause, errors=list(done.errors))
        return
    _log.info(
        f"config.{done.outcome}",
        cause=cause,
        epoch=done.epoch,
        hash=done.digest[:_SHOWN],
        changed=list(done.changed),
        waiting=list(done.waiting),
    )
