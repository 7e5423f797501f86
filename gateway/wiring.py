"""The composition root: the only module that knows every part, and who owns what."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
from pydantic import SecretStr

from gateway.attention.board import Board
from gateway.attention.opening import asking_people, tool_quotas
from gateway.bookkeeping import bookkeeping
from gateway.channels.retrying import RetryPolicy
from gateway.config import Config, ModelConfig, ProviderConfig, Secrets
from gateway.config.calibration import measured
from gateway.config.sandbox import SandboxConfig
from gateway.context.slimmer import Slimmer
from gateway.forecast.forecaster import Forecaster
from gateway.forecast.seen import Seen
from gateway.keeping import Durable, keeping
from gateway.metering.meters.attention import AttentionCounts
from gateway.metering.meters.context import ContextMeter
from gateway.metering.meters.database import DatabaseCounters
from gateway.metering.meters.forecast import ForecastMeter
from gateway.metering.meters.local import LocalMeter
from gateway.metering.meters.log import log_requests
from gateway.metering.meters.prometheus import PrometheusMeter
from gateway.metering.meters.rows import RecentRows
from gateway.metering.meters.runs import RunsMeter
from gateway.metering.spool import Spool
from gateway.opening import Pacing, pacing, pacing_meter
from gateway.pipeline import Pipeline
from gateway.planning.plan import Defaults, Planner
from gateway.planning.slims import Slims
from gateway.policy.accounts import account_of, elsewhere, served
from gateway.policy.callers import caps_of, rules_of
from gateway.policy.models import Catalogue, Model
from gateway.policy.prices import Prices, prices_of
from gateway.policy.targets import target_of
from gateway.sandbox import DockerSandbox, Limits, ProcessSandbox
from gateway.surfaces.behind import Behind
from gateway.surfaces.completion import Front
from gateway.surfaces.gate import Gate
from gateway.surfaces.spoken import DIALECTS
from gateway.upstream import provider, providers
from gateway.upstream.account import Account
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.llama_cpp.host import Host
from gateway.upstream.llama_cpp.opening import host_of, hosting, root_of
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import Provider
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from gateway.upstream.transport import Transport
from router_service.engine import Engine
from techniques import catalog
from techniques.core.registry import Card, load
from techniques.core.task import Sandbox, Uncalibrated

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Parts:
    """What the application is made of."""

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


@asynccontextmanager
async def running(
    config: Config, secrets: Secrets, *, several: bool = False
) -> AsyncGenerator[Parts, None]:
    """Build everything *config* asks for; leaving closes it, last opened first.

    *several* workers count into files that each of them can sum up.
    """
    async with AsyncExitStack() as stack:
        registry = CollectorRegistry()
        upstreams = await _upstreams(stack, config, provider.load(providers), registry)
        prices = prices_of(config)
        catalogue = Catalogue(_model(row, config, upstreams, prices) for row in config.models)
        kept = await stack.enter_async_context(keeping(config, secrets, DatabaseCounters(registry)))
        rows, pacing_counts = RecentRows(), pacing_meter(registry, config)
        meter = PrometheusMeter(registry, catalogue.labels())
        counts = AttentionCounts(registry, config.tool_quota.tools)
        runs_counts = RunsMeter(registry, [(row.name, row.provider) for row in config.models])
        seen = Seen(ForecastMeter(registry))
        counted = (pacing_counts, runs_counts, counts, ContextMeter(registry), *seen.meters)
        spool = Spool((meter, *counted, rows, log_requests, *kept.meters))
        stack.callback(spool.drain)
        paced = await stack.enter_async_context(
            pacing(config, upstreams.accounts.values(), kept.durable, pacing_counts)
        )
        board = await stack.enter_async_context(
            asking_people(config, secrets, counts, shared=paced.ledger, database=kept.database)
        )
        pipeline = await _pipeline(config, catalogue, load(catalog), paced)
        runs = await stack.enter_async_context(bookkeeping(config, kept, board))
        behind = Behind(kept.door, pipeline, (spool,), runs, DIALECTS) if runs else None
        gate = behind.attend() if behind else Gate()
        await stack.enter_async_context(hosting(upstreams.hosts, upstreams.accounts, paced.ledger))
        server = config.server
        front = Front(
            kept.door, pipeline, (spool,), server.max_body, server.keepalive_s, behind, gate
        )
        yield Parts(
            front,
            catalogue,
            rows,
            spool,
            counts,
            _summed if several else lambda: registry,
            _revealed(config.metrics.token),
            secrets.admin_token,
            seen.forecaster(pipeline.planner, paced.pacer),
            kept.durable,
            board,
            paced.lost,
        )


def _summed() -> CollectorRegistry:
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return registry


async def _transport(
    stack: AsyncExitStack, row: ProviderConfig, codec: Provider, config: Config
) -> Transport:
    if row.simulated is not None:
        return SimulatedTransport(Simulation(**row.simulated.model_dump()))
    return _pooled(stack, row, codec, config)


def _pooled(
    stack: AsyncExitStack, row: ProviderConfig, codec: Provider, config: Config
) -> PooledTransport:
    key = _revealed(row.api_key)
    transport = PooledTransport(
        Endpoint(
            base_url=row.base_url,
            headers={**row.headers, **(codec.authorization(key) if key else {})},
            connect_s=config.upstream.connect_s,
            pool=config.upstream.pool,
            allow_private=row.allow_private,
        )
    )
    stack.push_async_callback(transport.close)
    return transport


@dataclass(frozen=True, slots=True)
class _Upstreams:
    """Codecs by dialect, and by an account's name what carries calls to it, and its own host."""

    dialects: Mapping[str, Provider]
    transports: Mapping[str, Transport]
    accounts: Mapping[str, Account]
    hosts: Mapping[str, Host]


async def _upstreams(
    stack: AsyncExitStack,
    config: Config,
    dialects: Mapping[str, Provider],
    registry: CollectorRegistry,
) -> _Upstreams:
    rows, breaker = config.providers, config.upstream.breaker
    transports = {
        name: await _transport(stack, row, dialects[row.dialect], config)
        for name, row in rows.items()
    }
    accounts = {
        name: account_of(name, row, served(name, config.models), breaker)
        for name, row in rows.items()
    }
    own = {name: row for name, row in rows.items() if row.llama_cpp is not None}
    meter = LocalMeter(registry, own)
    hosts = {
        name: host_of(
            name,
            stated,
            _pooled(stack, at_root, dialects[row.dialect], config),
            meter,
            alone=config.server.workers == 1,
        )
        for name, row in own.items()
        if (stated := row.llama_cpp) is not None
        for at_root in [row.model_copy(update={"base_url": root_of(row.base_url)})]
    }
    return _Upstreams(dialects, transports, accounts, hosts)


def _model(row: ModelConfig, config: Config, upstreams: _Upstreams, prices: Prices) -> Model:
    account = config.providers[row.provider]
    priced = prices.by_name(row, account)
    target = target_of(row, account, row.model or row.name)
    patience = Patience(config.upstream.first_byte_s, config.upstream.idle_s)
    return Model(
        HttpChannel(
            upstreams.transports[row.provider],
            upstreams.dialects[account.dialect],
            target,
            patience,
        ),
        price=priced(row.model or row.name),
        priced=priced,
        fallbacks=row.fallbacks,
        hedge_after_s=row.hedge_after_s,
        called=partial(target_of, row, account),
        simulated=account.simulated is not None,
        account=upstreams.accounts[row.provider],
        max_output=row.max_output,
        host=upstreams.hosts.get(row.provider),
        others=tuple(_model(other, config, upstreams, prices) for other in elsewhere(row)),
    )


async def _sandbox(stated: SandboxConfig) -> Sandbox | None:
    """Return the sandbox that was asked for, None if it cannot run anything here."""
    limits = Limits(stated.seconds, stated.memory)
    sandbox: Sandbox
    match stated.kind:
        case "off":
            return None
        case "process":
            sandbox = ProcessSandbox(limits, at_once=stated.at_once, trusted=stated.trusted)
        case "docker":
            sandbox = DockerSandbox(limits, image=stated.image, at_once=stated.at_once)
    tried = await sandbox.run("")
    if tried.ended != "ok":
        _log.warning(
            "sandbox.unavailable", kind=stated.kind, reason=tried.err.strip() or tried.ended
        )
        return None
    return sandbox


async def _pipeline(
    config: Config, catalogue: Catalogue, cards: Mapping[str, Card], paced: Pacing
) -> Pipeline:
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
    upstream = config.upstream
    return Pipeline(
        # the other types are read, without effect as yet: see ``Config.without_effect``
        Planner(catalogue, cards, defaults, Engine("fixed")),
        RetryPolicy(
            upstream.retries,
            upstream.backoff_s,
            upstream.max_wait_s,
            paced=config.pacing.mode == "on",
        ),
        sandbox=await _sandbox(stated.sandbox),
        calibration=measured(stated.calibration) if stated.calibration else Uncalibrated(),
        pacer=paced.pacer,
        tools=tool_quotas(config, paced.ledger),
        slims=Slims(Slimmer(rules_of(config.context)), catalogue),
    )


def _revealed(secret: SecretStr | None) -> str | None:
    return None if secret is None else secret.get_secret_value()
