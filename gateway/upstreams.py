"""What carries calls to providers, by the configuration: built anew, or taken over from before.

An account lasts as long as its name stands for the same place: its windows, its breakers and the
connections that nothing speaks against are those of the configuration before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pydantic import SecretStr

from gateway.config import Config, ModelConfig, ProviderConfig
from gateway.config.values import WITHOUT
from gateway.metering.meters.local import LocalMeter
from gateway.policy.accounts import account_of, elsewhere, is_single, served, stated_windows
from gateway.policy.models import Model
from gateway.policy.prices import Prices, prices_of
from gateway.policy.targets import target_of
from gateway.upstream.account import Account
from gateway.upstream.embeddings.batches import Batch
from gateway.upstream.http import HttpChannel, Patience
from gateway.upstream.llama_cpp.host import Host
from gateway.upstream.llama_cpp.opening import host_of, root_of
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import Provider
from gateway.upstream.relaying import relaying
from gateway.upstream.simulated.settings import Simulation
from gateway.upstream.simulated.transport import SimulatedTransport
from gateway.upstream.transport import Transport
from gateway.upstream.ways import Ways, ways_of

_PLACE: Final = ("dialect", "base_url", "vendor", "simulated")
"""The settings of a provider that say which account it is, and how it tells of its limits."""


@dataclass(frozen=True, slots=True)
class Upstreams:
    """Codecs by dialect, and by an account's name what carries calls to it, and its own host.

    ``config`` is what they were built from.
    """

    config: Config
    dialects: Mapping[str, Provider]
    transports: Mapping[str, Transport]
    accounts: Mapping[str, Account]
    hosts: Mapping[str, Host]

    def pools(self) -> Iterator[PooledTransport]:
        """Yield the transports that have connections."""
        for transport in self.transports.values():
            if isinstance(transport, PooledTransport):
                yield transport

    def models(self) -> Iterator[Model]:
        """Yield the models of the configuration."""
        prices = prices_of(self.config)
        for row in self.config.models:
            yield self._model(row, prices)

    def _model(self, row: ModelConfig, prices: Prices) -> Model:
        config = self.config
        account = config.providers[row.provider]
        priced = prices.by_name(row, account)
        target = target_of(row, account, row.model or row.name)
        patience = Patience(config.upstream.first_byte_s, config.upstream.idle_s)
        codec = relaying(self.dialects[account.dialect])
        return Model(
            HttpChannel(self.transports[row.provider], codec, target, patience),
            price=priced(row.model or row.name),
            priced=priced,
            fallbacks=row.fallbacks,
            hedge_after_s=row.hedge_after_s,
            called=partial(target_of, row, account),
            simulated=account.simulated is not None,
            account=self.accounts[row.provider],
            max_output=row.max_output,
            host=self.hosts.get(row.provider),
            stronger=row.stronger,
            batch=Batch(**row.batch.model_dump()),
            others=tuple(self._model(other, prices) for other in elsewhere(row)),
        )

    def restate(self, before: Upstreams) -> list[Account]:
        """Tell the accounts that stay what is stated of them now; return those told otherwise.

        From here on that holds for calls of the configuration *before*, too: an account has one
        set of limits, whoever calls.
        """
        changed = []
        for name, account in self.accounts.items():
            if account is not before.accounts.get(name):
                continue
            row, was = self.config.providers[name], before.config.providers[name]
            models = served(name, self.config.models)
            account.single = is_single(models)
            account.breaks_after(self.config.upstream.breaker)
            if _reached(name, self.config) != _reached(name, before.config):
                account.forget_health()
            declared = stated_windows(row, models)
            if declared != stated_windows(was, served(name, before.config.models)):
                account.restate(declared, minute_s=row.limits.minute_s)
                changed.append(account)
        return changed


@dataclass(frozen=True, slots=True)
class UpstreamBuilder:
    """Builds them; ``meter`` counts what hosts do."""

    dialects: Mapping[str, Provider]
    meter: LocalMeter
    opened: list[PooledTransport] = field(default_factory=list)
    """Transports of hosts: they last as long as the process."""

    def build(self, config: Config, before: Upstreams | None = None) -> Upstreams:
        """Return those of *config*; what is as it was *before* is taken over."""
        accounts = {
            name: before.accounts[name]
            if before is not None and _is_place(row, before.config.providers.get(name))
            else account_of(name, row, served(name, config.models), config.upstream.breaker)
            for name, row in config.providers.items()
        }
        transports = {
            name: before.transports[name]
            if before is not None and _goes_on(name, config, before.config)
            else self._transport(row, config)
            for name, row in config.providers.items()
        }
        hosts = self._hosts(config, {} if before is None else before.hosts)
        return Upstreams(config, self.dialects, transports, accounts, hosts)

    def _hosts(self, config: Config, there: Mapping[str, Host]) -> Mapping[str, Host]:
        """Return the hosts of *config*: one that is there already stays as it is."""
        hosts = {name: there[name] for name in config.providers if name in there}
        for name, row in config.providers.items():
            if name in hosts or row.llama_cpp is None:
                continue
            root = row.model_copy(update={"base_url": root_of(row.base_url)})
            transport = self._pooled(root, config)
            self.opened.append(transport)
            alone = config.server.workers == 1
            hosts[name] = host_of(name, row.llama_cpp, transport, self.meter, alone=alone)
        return hosts

    def _transport(self, row: ProviderConfig, config: Config) -> Transport:
        if row.simulated is not None:
            return SimulatedTransport(Simulation(**row.simulated.model_dump()))
        return self._pooled(row, config)

    def _pooled(self, row: ProviderConfig, config: Config) -> PooledTransport:
        key = revealed(row.api_key)
        codec = self.dialects[row.dialect]
        return PooledTransport(
            Endpoint(
                base_url=row.base_url,
                headers={**row.headers, **(codec.authorization(key) if key else {})},
                connect_s=config.upstream.connect_s,
                pool=config.upstream.pool,
                allow_private=row.allow_private,
                proxy=proxy_of(row, ways_of(config.upstream)),
            )
        )


def _is_place(row: ProviderConfig, was: ProviderConfig | None) -> bool:
    """Tell whether *row* is the account that *was* is: the same one, whatever its key is now."""
    return was is not None and all(getattr(row, name) == getattr(was, name) for name in _PLACE)


def proxy_of(row: ProviderConfig, ways: Ways) -> str | None:
    """Return the URL of the proxy by which *row* is reached; *ways* are those of all."""
    if row.proxy is None:
        return None if row.allow_private else ways.to(row.base_url)
    own = revealed(row.proxy)
    return None if own == WITHOUT else own


def _reached(name: str, config: Config) -> tuple[object, ...]:
    """Return by what the provider is reached: where that changes, it is not known to be down."""
    row, ways = config.providers[name], ways_of(config.upstream)
    private, simulated = row.allow_private, row.simulated
    place = (row.dialect, row.base_url, private, simulated, proxy_of(row, ways))
    return (*place, row.api_key, row.headers)


def _goes_on(name: str, config: Config, before: Config) -> bool:
    """Tell whether the connections to *name* are those that there were *before*."""
    if name not in before.providers or _reached(name, config) != _reached(name, before):
        return False
    now, then = config.upstream, before.upstream
    return (now.connect_s, now.pool) == (then.connect_s, then.pool)


def revealed(secret: SecretStr | None) -> str | None:
    """Return the text of *secret*."""
    return None if secret is None else secret.get_secret_value()
