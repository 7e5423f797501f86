"""The one driver that talks to providers over the network.

Nothing else imports aiohttp. What is relied on: leaving a response that was not read to its end
closes its connection, one read to its end goes back to the pool; a body cut short raises.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from gateway.upstream.provider import HttpCall
from gateway.upstream.silence import SilenceWatch, Waiting
from techniques.core.errors import UpstreamFailed

_ALWAYS: Final = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "lockgate"}


class PrivateAddress(OSError):
    """A host name of the configuration leads to a private address, and must not."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an account is served. ``headers`` go with every call, credentials among them.

    ``pool`` connections at most, 0: no limit.
    """

    base_url: str
    headers: Mapping[str, str]
    connect_s: float
    pool: int = 0
    allow_private: bool = False


class AiohttpTransport:
    """Posts to one account."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._address = endpoint.base_url.rstrip("/")
        self._urls: dict[str, URL] = {}
        self._headers = {**_ALWAYS, **endpoint.headers}
        self._silence = SilenceWatch()
        resolver = ThreadedResolver()
        connector = aiohttp.TCPConnector(
            limit=endpoint.pool,
            limit_per_host=endpoint.pool,
            resolver=resolver if endpoint.allow_private else PublicOnly(resolver),
            ttl_dns_cache=60,
            keepalive_timeout=30,
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=endpoint.connect_s),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
        )

    async def post(self, call: HttpCall, silence_s: float) -> AiohttpResponse:
        """Send *call*; see ``Transport.post``."""
        url = self._urls.get(call.path)
        if url is None:
            url = self._urls[call.path] = URL(self._address + call.path, encoded=True)
        waiting = Waiting(self._silence, silence_s)
        try:
            response = await waiting.wait(
                self._session.post(
                    url,
                    data=call.body,
                    headers={**self._headers, **call.headers},
                    allow_redirects=False,
                )
            )
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from error
        return AiohttpResponse(response, waiting)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class AiohttpResponse:
    """A response whose head has come."""

    __slots__ = ("_content", "_response", "_waiting", "headers", "status")

    def __init__(self, response: aiohttp.ClientResponse, waiting: Waiting) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._content = response.content
        self._waiting = waiting

    async def read(self) -> bytes:
        """Return the next bytes; see ``Response.read``."""
        try:
            return await self._waiting.wait(self._content.readany())
        except (aiohttp.ClientError, OSError) as error:
            raise _failed(error) from error

    def allow_silence(self, seconds: float) -> None:
        """Let at most *seconds* pass without a byte from now on."""
        self._waiting.allowed_s = seconds

    def close(self) -> None:
        """End the call."""
        self._response.release()


def _failed(error: Exception) -> UpstreamFailed:
    """Return what went wrong without the address: it may hold a credential."""
    match error:
        case aiohttp.ConnectionTimeoutError():
            return UpstreamFailed(
                "No connection to the provider in time.", "timeout", retryable=True
            )
        case TimeoutError():
            return UpstreamFailed("The provider fell silent.", "timeout", retryable=True)
        case aiohttp.ClientConnectorError():
            return UpstreamFailed("No connection to the provider.", "transport", retryable=True)
        case _:
            return UpstreamFailed(
                "The connection to the provider broke.", "transport", retryable=True
            )


class PublicOnly(AbstractResolver):
    """A resolver that refuses names that lead into private ranges."""

    def __init__(self, inner: AbstractResolver) -> None:
        self._inner = inner

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return the addresses of *host*.

        Raises:
            PrivateAddress: One of them is private.
        """
        found = await self._inner.resolve(host, port, family)
        for address in found:
            if is_private(address["host"]):
                raise PrivateAddress(f"{host} has a private address")
        return found

    async def close(self) -> None:
        """Close the inner resolver."""
        await self._inner.close()


def is_private(host: str) -> bool:
    """Return whether *host* is an IP address outside the public ranges; names are not."""
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return False
