"""The configuration's shape. Defaults live here, once; an unknown key is an error.

Sections that this version reads but does not act on yet say so in ``Config.without_effect``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, model_validator

from gateway.config.attention import AttentionConfig, ToolQuotaConfig, unfit_persons
from gateway.config.callers import CapsConfig, KeyConfig, TeamConfig, unfit_callers
from gateway.config.context import ContextConfig
from gateway.config.cors import CorsConfig
from gateway.config.database import DatabaseConfig
from gateway.config.journal import JournalConfig
from gateway.config.llama_cpp import LlamaCppConfig, unfit_hosts
from gateway.config.models import HostedTools, ModelConfig
from gateway.config.names import serves, twice
from gateway.config.pacing import LimitsConfig, PacingConfig, StoreConfig, VendorName
from gateway.config.pricing import PricingConfig
from gateway.config.responses import ResponsesConfig
from gateway.config.router import RouterConfig, channels_of
from gateway.config.sandbox import SandboxConfig
from gateway.config.thinking import Style, unfit
from gateway.config.tracing import TracingConfig
from gateway.config.values import OwnProxy, Proxy, Seconds, Size
from router_service.groundwork.section import Section


class ServerConfig(Section):
    """The socket. ``keepalive_s``: silence after which a waiting stream gets a comment.

    ``drain_s``: seconds that open answers get to end when the gateway is told to stop. ``idle_s``:
    how long a connection stays open between two requests; a balancer must close it before.
    ``cors``: which web pages may ask it.
    """

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=256)
    max_body: Size = 20 * 2**20
    keepalive_s: Seconds = Field(15.0, gt=0)
    drain_s: Seconds = Field(30.0, ge=0)
    idle_s: Seconds = Field(75.0, ge=1)
    cors: CorsConfig = CorsConfig()


class UpstreamConfig(Section):
    """How long to wait for a provider, and how often to try.

    ``first_byte_s`` ends with the first content, of a whole answer with the answer; ``idle_s`` is
    between two pieces of content. ``retries`` come after the first attempt, and only before any
    content; the n-th waits up to ``backoff_s`` · 2^n. A provider that asks to wait longer than
    ``max_wait_s`` is not waited for. ``pool`` connections at most to one account, 0: no limit. A
    model that fails ``breaker`` times in a row is not asked for a while, 0: it is always asked.
    ``proxy`` is the URL of one that leads to all that is not near, ``no_proxy`` names hosts,
    domains, addresses and networks that are reached without it. Providers of which models are
    served by names with ``*`` are asked every ``list_s`` what they have, so that it can be listed;
    0: never.
    """

    connect_s: Seconds = Field(5.0, gt=0)
    first_byte_s: Seconds = Field(300.0, gt=0)
    idle_s: Seconds = Field(120.0, gt=0)
    retries: int = Field(2, ge=0, le=10)
    backoff_s: Seconds = Field(0.5, ge=0)
    max_wait_s: Seconds = Field(60.0, ge=0)
    pool: int = Field(0, ge=0)
    breaker: int = Field(5, ge=0)
    proxy: Proxy | None = None
    no_proxy: tuple[str, ...] = ()
    list_s: Seconds = Field(3600.0, ge=0)


class SimulatedConfig(Section):
    """A provider in process: a simulation, for trying things out and for tests.

    ``vendor`` chooses whose rate-limit headers it sends. ``speed`` 1 answers at the pace of a
    real model, 0 at once.
    """

    seed: int = 0
    vendor: Literal["openai", "anthropic", "groq", "azure"] = "openai"
    rpm: int | None = Field(None, gt=0)
    tpm: int | None = Field(None, gt=0)
    speed: float = Field(0.0, ge=0)
    fail_every: int | None = Field(None, gt=0)


Dialect = Literal["openai_chat", "openai_responses", "anthropic"]


class ProviderConfig(Section):
    """One account at one provider.

    ``api_key`` is written ``${NAME}`` or ``file:PATH``; so is a header that carries a credential
    (``Bearer ${NAME}``). Addresses in private ranges are refused unless ``allow_private``.
    ``thinking_style`` is that of its models which do not say their own. ``vendor`` tells how its
    rate limits are to be read, ``limits`` what they are where its answers do not tell. With
    ``idempotent`` it carries a call out once that is sent twice with one ``Idempotency-Key``.
    ``llama_cpp`` says that it is a server of llama.cpp, and what is done with its slots.
    ``priced_as`` names the provider of the price tables whose prices hold here (``none``:
    nobody's); absent, the address tells. ``hosted_tools`` is what is done with tools that another
    provider would carry out itself, such as a web search: a 400, or they are left out. ``proxy``
    is that of this provider alone, ``none``: it is reached without.
    """

    dialect: Dialect
    base_url: str = ""
    api_key: SecretStr | None = None
    allow_private: bool = False
    proxy: OwnProxy | None = None
    headers: Mapping[str, str] = {}
    thinking_style: Style | None = None
    vendor: VendorName = "auto"
    limits: LimitsConfig = LimitsConfig()
    idempotent: bool = False
    hosted_tools: HostedTools = "refuse"
    priced_as: str | None = None
    simulated: SimulatedConfig | None = None
    llama_cpp: LlamaCppConfig | None = None

    @model_validator(mode="after")
    def _one_upstream(self) -> ProviderConfig:
        if (self.simulated is None) == (not self.base_url):
            raise ValueError("give either base_url or simulated")
        if self.simulated is not None and self.dialect != "openai_chat":
            raise ValueError("a simulated provider speaks openai_chat; its clients may speak any")
        if self.llama_cpp and (self.simulated or self.dialect != "openai_chat"):
            raise ValueError("llama_cpp is for a base_url with the dialect openai_chat")
        return self


class ReliabilityConfig(Section):
    """What is done for a call that asks for nothing, and the options of each technique.

    ``channels`` are further models for techniques of several models, for calls that name none.
    ``calibration`` names the file that ``lockgate calibrate`` wrote, from this file's folder.
    """

    default: str = "none"
    channels: tuple[str, ...] = ()
    judge: str | None = None
    critic: str | None = None
    calibration: Path | None = None
    techniques: Mapping[str, Mapping[str, Any]] = {}
    caps: CapsConfig = CapsConfig(max_calls=64)
    sandbox: SandboxConfig = SandboxConfig()
    on_error: Literal["fallback_baseline", "raise"] = "fallback_baseline"


class MetricsConfig(Section):
    """Prometheus. With a ``token``, ``/metrics`` wants it as a bearer token."""

    token: SecretStr | None = None


class Config(Section):
    """The whole configuration file."""

    server: ServerConfig = ServerConfig()
    providers: Mapping[str, ProviderConfig] = {}
    models: tuple[ModelConfig, ...] = ()
    pricing: PricingConfig = PricingConfig()
    reliability: ReliabilityConfig = ReliabilityConfig()
    upstream: UpstreamConfig = UpstreamConfig()
    teams: tuple[TeamConfig, ...] = ()
    keys: tuple[KeyConfig, ...] = ()
    metrics: MetricsConfig = MetricsConfig()
    tracing: TracingConfig = TracingConfig()
    router: RouterConfig = RouterConfig()
    context: ContextConfig = ContextConfig()
    pacing: PacingConfig = PacingConfig()
    store: StoreConfig = StoreConfig()
    tool_quota: ToolQuotaConfig = ToolQuotaConfig()
    attention: AttentionConfig = AttentionConfig()
    reuse: Mapping[str, Any] = {}
    traffic: Mapping[str, Any] = {}
    database: DatabaseConfig = DatabaseConfig()
    journal: JournalConfig = JournalConfig()
    responses: ResponsesConfig = ResponsesConfig()

    @model_validator(mode="after")
    def _names_exist(self) -> Config:
        problems = list(unknown_names(self))
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def without_effect(self) -> list[str]:
        """Return the paths of settings that this version reads but does not act on."""
        return [name for name in ("reuse", "traffic") if getattr(self, name)]


def unknown_names(config: Config) -> Iterator[str]:
    """Yield what *config* names that is not there, or names twice, a line each with its path."""
    models = {model.name for model in config.models}
    if len(models) < len(config.models):
        yield f"models: two have the same name, {twice(m.name for m in config.models)!r}"
    for model in config.models:
        for place, name in (
            ("provider", model.provider),
            *(("accounts", n) for n in model.accounts),
        ):
            if name not in config.providers:
                yield f"models.{model.name}.{place}: there is no provider {name!r}"
    for path, name in _model_references(config):
        if not serves(models, name):
            yield f"{path}: there is no model {name!r}"
    yield from _unfit_journal(config)
    if config.responses.store == "on" and not config.database.kept:
        yield "responses.store: on needs a database.url"
    yield from _unfit_styles(config)
    yield from unfit_hosts(config.providers, config.server.workers)
    yield from unfit_callers(config.keys, config.teams, models)
    yield from unfit_persons(config.attention, config.keys)


def _unfit_journal(config: Config) -> Iterator[str]:
    stated, persons = config.journal, [one.name for one in config.attention.persons]
    if stated.durability == "redis" and config.store.redis is None:
        yield "journal.durability: redis needs store.redis"
    if stated.person is not None and stated.person not in persons:
        yield f"journal.person: attention.persons has nobody called {stated.person!r}"


def _unfit_styles(config: Config) -> Iterator[str]:
    rows = [
        (f"providers.{name}", row.thinking_style, name) for name, row in config.providers.items()
    ]
    rows += [(f"models.{row.name}", row.thinking_style, row.provider) for row in config.models]
    for path, style, provider in rows:
        account = config.providers.get(provider)
        if account is not None and (why := unfit(style, account.dialect)):
            yield f"{path}.thinking_style: {why}"


def _model_references(config: Config) -> Iterator[tuple[str, str]]:
    yield from _beside_models(config)
    yield from (("router.arms", name) for name in channels_of(config.router))
    for name in config.reliability.channels:
        yield "reliability.channels", name
    for path, context in (
        ("context.model", config.context),
        *((f"keys.{key.name}.context.model", key.context) for key in config.keys),
    ):
        if context is not None and context.model is not None:
            yield path, context.model
    for role in ("judge", "critic"):
        if name := getattr(config.reliability, role):
            yield f"reliability.{role}", name


def _beside_models(config: Config) -> Iterator[tuple[str, str]]:
    for model in config.models:
        for name in model.fallbacks:
            yield f"models.{model.name}.fallbacks", name
        if model.stronger is not None:
            yield f"models.{model.name}.stronger", model.stronger
