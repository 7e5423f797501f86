"""Opens who chooses for ``auto``: a router in this process or far away, and what it learns from."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import SystemRandom  # noqa: TID251 - who tries something out throws true dice
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import anyio.to_thread
import structlog

from gateway.clock import loop_time
from gateway.config import Config
from gateway.config.router import RouterConfig
from gateway.embedding import EmbeddingCalls
from gateway.metering.meters.router import RouterMeter
from gateway.planning.planner import Planner
from gateway.reasons import why_of
from gateway.routing.asking import Asker, Here
from gateway.routing.menu import Menus
from gateway.routing.observing import Forgets, Observer
from gateway.routing.pace import Pace
from gateway.routing.reasks import Reasks
from gateway.routing.routing import Routing
from gateway.upstream.ways import Ways, ways_of
from router_service.contract import Encoder, Observation, Observations, Router
from router_service.embedding.encoders import encoder_of
from router_service.embedding.unusable import Unusable
from router_service.fitting.fitter import Fitter
from router_service.groundwork.database import Database, opened
from router_service.learning.artifacts import with_weights
from router_service.learning.explorer import Explorer
from router_service.settings import RouterSettings
from router_service.store.fits import FitTable
from router_service.store.learner import Learner, Learns
from router_service.store.observations import ObservationTable
from router_service.store.served import Served, Tunes
from router_service.store.steps import STEPS
from techniques.core.groups import task_group

if TYPE_CHECKING:
    from router_service.client import RouterClient

_POOL: Final = 2

_log = structlog.get_logger()


class Engine(Router, Learns, Tunes, Protocol):
    """A router in this process."""


Make = Callable[[RouterSettings, Explorer | None], Engine]
"""Makes the router in this process; what explores may be None."""


@dataclass(frozen=True, slots=True)
class Choosing:
    """Who chooses, and who keeps what came of it; None: nobody.

    ``explorer`` is what tries something out in this process, ``learner`` what brings observations
    to the router here, ``fitter`` what finds out anew what that decides by. ``far`` is the router,
    where it is one far away.
    """

    router: Router
    encoder: Encoder | None
    observations: Observations | None
    observer: Observer
    explorer: Explorer | None = None
    learner: Learner | None = None
    fitter: Fitter | None = None
    far: RouterClient | None = None

    def _is_loaded(self) -> bool:
        return self.learner is None or self.learner.loaded

    def routing(self, stated: RouterConfig, planner: Planner) -> Routing:
        """Return what asks for plans by what is *stated* now."""
        here = Here(self.router, self._is_loaded)
        asker = Asker(here, self.encoder, stated.timeout_ms / 1000, stated.embedding.timeout_s)
        if self.far is not None:
            self.far.within_s = stated.timeout_ms / 1000
        menus = Menus(planner, stated.stated_arms)
        kind = stated.type if stated.url is None else "remote"
        return Routing(menus, asker, kind, stated.lambda_, self.observer.pace, self.observer.listen)


@asynccontextmanager
async def choosing(
    config: Config, make: Make, counts: RouterMeter
) -> AsyncGenerator[Choosing, None]:
    """Open what *config* says; leaving writes what waits, and closes it.

    Raises:
        DatabaseUnusable: What was observed cannot be kept.
        OSError: The file with weights cannot be read.
        ValueError: ... or there are none in it.
    """
    stated = await anyio.to_thread.run_sync(with_weights, config.router)
    async with AsyncExitStack() as stack:
        encoder = await _encoder(stated, ways_of(config.upstream), stack)
        group = await stack.enter_async_context(task_group())
        stack.callback(group.cancel_scope.cancel)
        explorer, learner, fitter, far = _explorer(stated), None, None, None
        router: Router
        kept: Observations | None
        if stated.url is not None:
            router = kept = far = await stack.enter_async_context(_far(stated, counts))
        else:
            router = engine = make(stated, explorer)
            database = await _database(config, stack)
            kept = None
            if database is not None:
                kept = ObservationTable(database, stated.store.keys)
                learner, fitter = _pupils(database, stated, engine, counts)
                group.start_soon(learner.run, stated.refresh_s, stated.learning.ttl_days)
                group.start_soon(fitter.run)
        observer = _observer(config, kept, counts, explorer)
        group.start_soon(observer.serve)
        stack.push_async_callback(_finish, observer)
        own = observer.observations, observer, explorer, learner, fitter, far
        yield Choosing(router, encoder, *own)


@asynccontextmanager
async def _far(stated: RouterConfig, counts: RouterMeter) -> AsyncGenerator[RouterClient, None]:
    """Open the way to a router far away."""
    from router_service.client import Remote, connected  # it takes long to import; most need none

    token = None if stated.token is None else stated.token.get_secret_value()
    remote = Remote(str(stated.url), token, stated.timeout_ms / 1000)
    async with connected(remote, counts.observed) as client:
        yield client


async def _encoder(stated: RouterConfig, ways: Ways, stack: AsyncExitStack) -> Encoder | None:
    """Return what makes vectors, None where nobody wants any or none can be had."""
    if stated.type == "fixed" and stated.url is None and not stated.learning.enabled:
        return None
    calls = None
    if stated.embedding.kind == "upstream":
        calls = EmbeddingCalls(stated.embedding, ways)
        stack.push_async_callback(calls.close)
    try:
        return await anyio.to_thread.run_sync(encoder_of, stated.embedding, calls)
    except Unusable as unusable:
        _log.error("encoder.unusable", reason=why_of(unusable))
        return None


async def _database(config: Config, stack: AsyncExitStack) -> Database | None:
    """Return where observations are kept and read, None where nothing is learnt here."""
    stated = config.router
    learns = stated.type != "fixed" or stated.learning.enabled
    if not learns or not config.database.kept:
        return None
    return await stack.enter_async_context(opened(config.database.url, STEPS, pool=_POOL))


def _pupils(
    database: Database, stated: RouterConfig, engine: Engine, counts: RouterMeter
) -> tuple[Learner, Fitter]:
    """Return what brings *engine* what is in *database*, and what finds out what to decide by."""
    table = ObservationTable(database, stated.store.keys)
    served = Served(FitTable(database, stated.type), engine, stated)
    learner = Learner(table, engine, counts, served)
    return learner, Fitter(stated, table, served, learner)


@dataclass(frozen=True, slots=True)
class _Closed:
    """A database that is opened to delete from it: nothing is learnt here, but may have been."""

    config: Config

    async def forget(self, caller: str) -> int:
        """Delete what was observed of *caller*, and return how many rows that were."""
        keys = self.config.router.store.keys
        async with opened(self.config.database.url, STEPS) as database:
            return await ObservationTable(database, keys).forget(caller)


def _archive(config: Config) -> Forgets | None:
    return _Closed(config) if config.database.kept else None


def _explorer(stated: RouterConfig) -> Explorer | None:
    """Return what tries arms out; where the router is far away, that is there."""
    if not stated.learning.enabled or stated.url is not None:
        return None
    return Explorer(stated.learning.exploration, loop_time, SystemRandom().random)


def _settle(explorer: Explorer, _ended: object, observed: Observation) -> None:
    explorer.observe([observed])


def _observer(
    config: Config, kept: Observations | None, counts: RouterMeter, explorer: Explorer | None
) -> Observer:
    learns = config.router.learning.enabled
    observer = Observer(kept if learns else None, counts.observed, Pace())
    observer.archive = _archive(config) if kept is None else kept
    observer.said = counts.said
    if explorer is not None:
        observer.beside.append(partial(_settle, explorer))
    if config.router.learning.reasks and observer.observations is not None:
        observer.beside.append(Reasks(observer.say))
    return observer


async def _finish(observer: Observer) -> None:
    with anyio.move_on_after(2, shield=True):
        await observer.flush()
