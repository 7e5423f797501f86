"""The one driver that talks to providers over the network: calls over connections that are kept.

What is relied on: an answer that was not read to its end closes its connection, one that was goes
back to the pool; a body that is cut short fails.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel

from gateway.upstream.addresses import unreached
from gateway.upstream.answer import Answer
from gateway.upstream.connection import Connection
from gateway.upstream.dialing import straight, tunnelled
from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.silence import SilenceWatch
from techniques.core.errors import UpstreamFailed

_ALWAYS: Final = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "lockgate"}
_KEPT_S: Final = 30.0
_HEADS: Final = 1024
_SMALL_HEAD: Final = 2048


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an account is served. ``headers`` go with every call, credentials among them.

    ``pool`` connections at most, 0: no limit. ``proxy`` is the URL of one that leads to it.
    """

    base_url: str
    headers: Mapping[str, str]
    connect_s: float
    pool: int = 0
    allow_private: bool = False
    proxy: str | None = None


class PooledTransport:
    """Posts to one account."""

    def __init__(self, endpoint: Endpoint) -> None:
        url = urlsplit(endpoint.base_url.rstrip("/"))
        secure = url.scheme == "https"
        self._name = url.hostname or ""
        self._host = url.netloc.rpartition("@")[2]
        self._path = url.path
        self._headers = {**_ALWAYS, **endpoint.headers}
        self.mask = Mask(endpoint.headers)
        self._connect_s = endpoint.connect_s
        self._tls = _trust() if secure else None
        dial = partial(tunnelled, endpoint.proxy) if endpoint.proxy else straight
        port = url.port or (443 if secure else 80)
        self._dial = dial(self._name, port, allow_private=endpoint.allow_private)
        self._heads: dict[tuple[str, str, tuple[tuple[str, str], ...]], bytes] = {}
        self._idle: list[Connection] = []
        self._keeps = True
        self._tidying: asyncio.TimerHandle | None = None
        self._slots = anyio.Semaphore(endpoint.pool) if endpoint.pool else None
        self._silence = SilenceWatch()

    async def post(self, call: HttpCall, until: float) -> Answer[Connection]:
        """Send *call*; see ``Transport.post``."""
        call.waits()
        connection = await self._connection(until)
        answer = Answer(connection, until, self._over)
        self._silence.watch(answer)
        try:
            head = b"%b%d\r\n\r\n" % (self._head(call), len(call.body))
            call.leaves()
            connection.send(head, call.body, answer)
            try:
                await answer.headed()
            except UpstreamFailed:
                if not answer.missed:
                    raise
                answer.move(await self._connected(until))
                answer.connection.send(head, call.body, answer)
                await answer.headed()
        except BaseException:
            answer.close()
            raise
        return answer

    async def close(self) -> None:
        """Close the connections that nobody uses, and each that is used when its call has ended."""
        self.retire()

    def retire(self) -> None:
        """Do as ``close`` does: calls under way go on, and may be followed by others."""
        self._keeps = False
        if self._tidying is not None:
            self._tidying.cancel()
        for connection in self._idle:
            connection.transport.close()
        self._idle.clear()

    def _head(self, call: HttpCall) -> bytes:
        """Return all of the call's head but its body's size."""
        asked = (call.method, call.path, tuple(call.headers.items()))
        head = self._heads.get(asked)
        if head is None:
            head = self._written(call)
            # a client's headers are in it, and no two calls have one place in a trace
            if len(head) <= _SMALL_HEAD and "traceparent" not in call.headers:
                if len(self._heads) >= _HEADS:
                    self._heads.clear()
                self._heads[asked] = head
        return head

    def _written(self, call: HttpCall) -> bytes:
        lines = [
            f"{call.method} {self._path}{call.path} HTTP/1.1",
            f"host: {self._host}",
            *(f"{name}: {value}" for name, value in {**self._headers, **call.headers}.items()),
            "content-length: ",
        ]
        if any("\r" in line or "\n" in line or "\0" in line for line in lines):
            raise UpstreamFailed("A header of the call is not one line.", "rejected")
        return "\r\n".join(lines).encode("latin-1", "replace")

    def _kept(self) -> Connection | None:
        """Return the connection that was used last of those that can be used again."""
        while self._idle:
            connection = self._idle.pop()
            if connection.quiet:
                return connection
            connection.transport.abort()
        return None

    async def _connection(self, until: float) -> Connection:
        """Return a connection that nobody uses, and take its place."""
        contended = self._slots is not None and await self._slot(until - monotonic())
        try:
            if contended:  # what still comes for the call before is not taken for an answer to this
                await anyio.lowlevel.checkpoint()
            return self._kept() or await self._connected(until)
        except BaseException:
            self._free()
            raise

    async def _connected(self, until: float) -> Connection:
        try:
            with anyio.fail_after(min(until - monotonic(), self._connect_s)):
                return await self._connect()
        except TimeoutError as error:
            raise UpstreamFailed(
                "No connection to the provider in time.", "timeout", retryable=True
            ) from error
        except ssl.SSLCertVerificationError as error:
            raise UpstreamFailed(
                f"The provider's certificate is not trusted: {error.verify_message}.",
                "transport",
                retryable=True,
            ) from error
        except OSError as error:
            raise UpstreamFailed(
                f"No connection to the provider{unreached(error)}.", "transport", retryable=True
            ) from error

    async def _connect(self) -> Connection:
        connected = await self._dial()
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                Connection,
                sock=connected,
                ssl=self._tls,
                server_hostname=self._name if self._tls else None,
            )
        except BaseException:
            with suppress(OSError):
                connected.close()
            raise
        return connection

    async def _slot(self, patience_s: float) -> bool:
        """Wait for a free place; tell whether none was."""
        assert self._slots is not None
        contended = not self._slots.value
        try:
            with anyio.fail_after(patience_s):
                await self._slots.acquire()
        except TimeoutError as error:
            raise UpstreamFailed(
                "No connection to the provider was free in time.", "timeout", retryable=True
            ) from error
        return contended

    def _free(self) -> None:
        if self._slots is not None:
            self._slots.release()

    def _over(self, answer: Answer[Connection]) -> None:
        """Keep the connection of *answer* if another call can follow."""
        self._silence.forget(answer)
        self._free()
        connection = answer.connection
        connection.leave()
        if connection.reusable and not self._keeps:
            connection.transport.close()
        elif connection.reusable:
            connection.idle_since = monotonic()
            self._idle.append(connection)
            if self._tidying is None:
                self._tidying = asyncio.get_running_loop().call_later(_KEPT_S, self._tidy)

    def _tidy(self) -> None:
        """Close what was idle for long; those used last stand at the end."""
        oldest = monotonic() - _KEPT_S
        kept = [connection for connection in self._idle if connection.idle_since > oldest]
        for connection in self._idle[: len(self._idle) - len(kept)]:
            connection.transport.close()
        self._idle = kept
        self._tidying = None
        if kept:
            self._tidying = asyncio.get_running_loop().call_later(_KEPT_S, self._tidy)


@lru_cache(1)
def _trust() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
