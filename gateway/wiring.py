"""The composition root: the only module that knows every part, and who owns what.

What a configuration makes is one value, ``Parts``, around what lasts as long as the process. A
reload makes another and puts it in the place of the first; who began with the first keeps it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio.to_thread
import structlog
from prometheus_client import CollectorRegistry

from gateway.attention.board import Board
from gateway.attention.opening import tool_quotas
from gateway.channels.retrying import RetryPolicy
from gateway.config import Config, Secrets
from gateway.config.calibration import measured
from gateway.config.sandbox import SandboxConfig
from gateway.forecast.forecaster import Forecaster
from gateway.keeping import Durable
from gateway.lasting import Counts, Lasting, lasting
from gateway.learning import opening
from gateway.learning.opening import Seen
from gateway.metering.meters.attention import AttentionCounts
from gateway.metering.meters.local import LocalMeter
from gateway.metering.meters.rows import RecentRows
from gateway.metering.spool import Spool
from gateway.pacing.pacer import Pacer
from gateway.pipeline import Pipeline
from gateway.planning.plan import Defaults
from gateway.planning.planner import Planner
from gateway.planning.slims import Slims
from gateway.policy.callers import caps_of, rules_of
from gateway.policy.models import Catalogue
from gateway.sandbox import DockerSandbox, Limits, ProcessSandbox
from gateway.surfaces.behind import Behind
from gateway.surfaces.completion import Front
from gateway.surfaces.operations import summed
from gateway.surfaces.spoken import DIALECTS
from gateway.surfaces.unheard import Unheard
from gateway.upstream import provider, providers
from gateway.upstreams import UpstreamBuilder, Upstreams, revealed
from router_service.engine import Engine
from router_service.fitting.fitter import Fitter
from router_service.learning.explorer import Explorer
from router_service.settings import RouterSettings
from techniques import catalog
from techniques.core.registry import Card, load
from techniques.core.task import Calibration, Sandbox, Uncalibrated

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is made of, by one configuration.

    ``house`` makes those of another.
    """

    house: House
    config: Config
    upstreams: Upstreams
    front: Front
    catalogue: Catalogue
    rows: RecentRows
    spool: Spool
    counts: AttentionCounts
    collect: Callable[[], CollectorRegistry]
    metrics_token: str | None
    admin_token: str | None
    forecaster: Forecaster
    durable: Durable | None = None
    board: Board | None = None
    lost: Callable[[], list[str]] = list
    fitter: Fitter | None = None


@asynccontextmanager
async def running(
    config: Config, secrets: Secrets, *, several: bool = False
) -> AsyncGenerator[Parts, None]:
    """Build everything *config* asks for; leaving closes it, last opened first.

    *several* workers count into files that each of them can sum up.
    """
    async with AsyncExitStack() as stack:
        registry = CollectorRegistry()
        own = [name for name, row in config.providers.items() if row.llama_cpp is not None]
        builder = UpstreamBuilder(provider.load(providers), LocalMeter(registry, own))
        house = House(builder, builder.build(config), summed if several else lambda: registry)
        stack.push_async_callback(house.close)
        counts = Counts(registry, config)
        there = await stack.enter_async_context(
            lasting(config, secrets, counts, lambda: house.upstreams, _engine)
        )
        parts = await house.open(there, config)
        if (chosen := there.choosing) is not None:
            here = chosen.router if isinstance(chosen.router, Engine) else None
            drifts = tuple if here is None else lambda: here.drifts
            seen = Seen(chosen.observer, chosen.observations, chosen.explorer, drifts)
            at = opening.House(lambda: house.pipeline, (there.spool,), counts.learning)
            await stack.enter_async_context(opening.learning(config.router.learning, seen, at))
        if house.behind is not None:
            house.behind.attend(lambda: house.behind)
        yield parts


class House:
    """Makes the parts of configurations, and knows those that are served."""

    def __init__(
        self,
        builder: UpstreamBuilder,
        upstreams: Upstreams,
        collect: Callable[[], CollectorRegistry],
    ) -> None:
        self.upstreams = upstreams
        self.behind: Behind | None = None
        self._pipeline_now: Pipeline | None = None
        self._builder = builder
        self._collect = collect
        self._lasting: Lasting | None = None
        self._sandbox: tuple[SandboxConfig, Sandbox | None] | None = None

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that is served at the moment."""
        assert self._pipeline_now is not None, "opened before anything is served"
        return self._pipeline_now

    @property
    def lasting(self) -> Lasting:
        """What lasts."""
        assert self._lasting is not None, "opened before anything is served"
        return self._lasting

    async def open(self, there: Lasting, config: Config) -> Parts:
        """Return the first parts, which are those that are served."""
        self._lasting = there
        parts = await self._parts(config, self.upstreams)
        self.behind, self._pipeline_now = parts.front.behind, parts.front.pipeline
        return parts

    async def prepare(self, config: Config) -> Parts:
        """Return the parts that *config* makes around what lasts; nothing is changed by it.

        Raises:
            ValueError: A file that it names has gone wrong since it was looked at.
            OSError: ... or is not there any more.
        """
        return await self._parts(config, self._builder.build(config, self.upstreams))

    async def adopt(self, parts: Parts, show: Callable[[Parts], None]) -> None:
        """Serve *parts* from now on, which *show* shows to who comes.

        All that is decided is decided before anything waits.
        """
        before, self.upstreams = self.upstreams, parts.upstreams
        restated = parts.upstreams.restate(before)
        self.lasting.configure(parts.config)
        self.behind, self._pipeline_now = parts.front.behind, parts.front.pipeline
        show(parts)
        kept = set(map(id, parts.upstreams.pools()))
        for pool in before.pools():
            if id(pool) not in kept:
                pool.retire()
        await self.lasting.hosting.take(parts.upstreams.hosts, parts.upstreams.accounts)
        await self.lasting.paced.restate(restated)

    async def close(self) -> None:
        """Close the connections to providers."""
        for pool in (*self.upstreams.pools(), *self._builder.opened):
            await pool.close()

    async def _parts(self, config: Config, upstreams: Upstreams) -> Parts:
        there = self.lasting
        catalogue = await anyio.to_thread.run_sync(lambda: Catalogue(upstreams.models()))
        durable = there.kept.durable_of(config)
        pacer = there.paced.under(config, durable)
        pipeline = await self._pipeline(config, catalogue, pacer)
        unheard = there.unheard(recall := there.recall(config))
        front = Front(
            there.kept.door,
            pipeline,
            (there.spool,),
            config.server.max_body,
            config.server.keepalive_s,
            behind=self._behind(pipeline, unheard),
            gate=there.gate,
            traced=there.traces.begin,
            observer=there.observer,
            recall=recall,
            unheard=unheard,
        )
        counts = there.counts
        return Parts(
            self,
            config,
            upstreams,
            front,
            catalogue,
            counts.rows,
            there.spool,
            counts.attention,
            self._collect,
            revealed(config.metrics.token),
            there.secrets.admin_token,
            counts.seen.forecaster(pipeline.planner, pacer),
            durable,
            there.board,
            there.paced.lost,
            None if there.choosing is None else there.choosing.fitter,
        )

    def _behind(self, pipeline: Pipeline, unheard: Unheard | None) -> Behind | None:
        """Return what carries out runs that nobody waits for, None without a journal."""
        there = self.lasting
        if there.runs is None:
            return None
        own = (there.spool,), there.runs, DIALECTS, there.gate, there.traces.begin
        return Behind(there.kept.door, pipeline, *own, observer=there.observer, unheard=unheard)

    async def _pipeline(
        self, config: Config, catalogue: Catalogue, pacer: Pacer | None
    ) -> Pipeline:
        upstream, there = config.upstream, self.lasting
        planner = _planner(config, catalogue, load(catalog))
        return Pipeline(
            planner,
            RetryPolicy(
                upstream.retries,
                upstream.backoff_s,
                upstream.max_wait_s,
                paced=config.pacing.mode == "on",
            ),
            sandbox=await self._sandboxed(config.reliability.sandbox),
            calibration=_calibration(config),
            pacer=pacer,
            tools=tool_quotas(config, there.uses),
            slims=Slims(there.slimmer.under(rules_of(config.context)), catalogue),
            routing=None
            if there.choosing is None
            else there.choosing.routing(config.router, planner),
        )

    async def _sandboxed(self, stated: SandboxConfig) -> Sandbox | None:
        """Return the sandbox that is *stated*; one that works is not tried again."""
        if self._sandbox is None or self._sandbox[0] != stated or self._sandbox[1] is None:
            sandbox, reason = await sandbox_of(stated)
            if reason:
                _log.warning("sandbox.unavailable", kind=stated.kind, reason=reason)
            self._sandbox = stated, sandbox
        return self._sandbox[1]


def _calibration(config: Config) -> Calibration:
    file = config.reliability.calibration
    return measured(file) if file else Uncalibrated()


async def sandbox_of(stated: SandboxConfig) -> tuple[Sandbox | None, str]:
    """Return the sandbox that was asked for, None if it cannot run anything here, and why not."""
    limits = Limits(stated.seconds, stated.memory)
    sandbox: Sandbox
    match stated.kind:
        case "off":
            return None, ""
        case "process":
            sandbox = ProcessSandbox(limits, at_once=stated.at_once, trusted=stated.trusted)
        case "docker":
            sandbox = DockerSandbox(limits, image=stated.image, at_once=stated.at_once)
    tried = await sandbox.run("")
    if tried.ended != "ok":
        return None, tried.err.strip() or tried.ended
    return sandbox, ""


def _planner(config: Config, catalogue: Catalogue, cards: Mapping[str, Card]) -> Planner:
    stated = config.reliability
    defaults = Defaults(
        technique=stated.default,
        channels=stated.channels,
        judge=stated.judge,
        critic=stated.critic,
        options=stated.techniques,
        caps=caps_of(stated.caps),
        deadline_ms=stated.caps.deadline_ms,
        rescue=stated.on_error == "fallback_baseline",
    )
    return Planner(catalogue, cards, defaults)


def _engine(settings: RouterSettings, explorer: Explorer | None) -> Engine:
    return Engine(settings, explore=explorer)
