"""Opens the hosts of a configuration: servers of llama.cpp, and what runs beside them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final, Protocol
from urllib.parse import urlsplit, urlunsplit

import anyio
from anyio.abc import TaskGroup

from gateway.config.llama_cpp import KvConfig, LlamaCppConfig
from gateway.stores.ledger import StoreLost, WindowSpec
from gateway.stores.readings import window
from gateway.upstream.account import Account
from gateway.upstream.llama_cpp.host import Host, HostPolicy, Seen
from gateway.upstream.llama_cpp.kv import Kv, KvPolicy
from gateway.upstream.llama_cpp.pace import Pace
from gateway.upstream.llama_cpp.server import Server
from gateway.upstream.llama_cpp.shelf import Shelf
from gateway.upstream.llama_cpp.vram import free_bytes
from gateway.upstream.transport import Transport
from techniques.core.groups import task_group

_AT_ONCE: Final = window("*", "concurrency", None)
_CLOSE_S: Final = 10.0
"""How long the contents of slots may take to be saved when the gateway stops."""


def root_of(base_url: str) -> str:
    """Return the address of the server whose completions are at *base_url*."""
    url = urlsplit(base_url.rstrip("/"))
    return urlunsplit(url._replace(path=url.path.removesuffix("/v1")))


def host_of(
    name: str, stated: LlamaCppConfig, transport: Transport, seen: Seen, *, alone: bool
) -> Host:
    """Return the host *name* as it is *stated*; *transport* reaches the root of its server.

    *alone*: this process is the only one of its gateway.
    """
    card, kv = stated.vram, stated.kv
    free = None if card is None else partial(free_bytes, card.card)
    bytes_per_token = None if card is None else card.bytes_per_token
    idle_s = 0.0 if kv is None else kv.idle_s
    policy = HostPolicy(stated.margin, idle_s, stated.poll_s, free, bytes_per_token, alone)
    if kv is None:
        return Host(name, Server(transport), seen, policy)
    server = Server(transport, moved_s=kv.timeout_s)
    pace = Pace(bytes_per_token, kv.reserve_s, kv.min_free)
    return Host(name, server, seen, policy, kv=_kv(server, pace, kv))


def _kv(server: Server, pace: Pace, stated: KvConfig) -> Kv:
    many = stated.tenants == "folders"
    policy = KvPolicy(stated.min_tokens, stated.keep_s, stated.prune, many, stated.model_file)
    return Kv(server, Shelf(stated.folder), pace, policy)


class Windows(Protocol):
    """Where windows are defined: see ``LedgerStore``."""

    async def define(self, pool: str, windows: Sequence[WindowSpec]) -> None:
        """Make windows, or change their size."""
        ...


class Hosting:
    """Looks after hosts in *group*: their slots bound the calls of their accounts."""

    def __init__(self, ledger: Windows | None, group: TaskGroup) -> None:
        self._ledger = ledger
        self._group = group
        self._hosts: dict[str, Host] = {}

    async def take(self, hosts: Mapping[str, Host], accounts: Mapping[str, Account]) -> None:
        """Look after those of *hosts* that are new, too."""
        for name, host in hosts.items():
            if name in self._hosts:
                continue
            if not accounts[name].knows(_AT_ONCE):  # what the operator stated holds
                host.resized = partial(_bound, accounts[name], self._ledger)
            self._hosts[name] = host
            await host.look()
            self._group.start_soon(host.serve)

    async def close(self) -> None:
        """Save the sessions."""
        for host in self._hosts.values():
            await host.close(_CLOSE_S)


@asynccontextmanager
async def hosting(
    hosts: Mapping[str, Host], accounts: Mapping[str, Account], ledger: Windows | None
) -> AsyncGenerator[Hosting, None]:
    """Look after *hosts*, and those that come; leaving saves sessions."""
    async with task_group() as group:
        those = Hosting(ledger, group)
        await those.take(hosts, accounts)
        try:
            yield those
        finally:
            group.cancel_scope.cancel()
            with anyio.move_on_after(_CLOSE_S + 1, shield=True):
                await those.close()


async def _bound(account: Account, ledger: Windows | None, slots: int) -> None:
    """Let as many calls be under way at *account* as there are slots."""
    spec = WindowSpec(_AT_ONCE, "gauge", slots)
    account.add(spec)
    if ledger is not None:
        with suppress(StoreLost):  # whoever asks next defines it
            await ledger.define(account.pool, [spec])
