"""The one driver that talks to providers over the network.

Nothing else imports aiohttp. What is relied on: leaving a response that was not read to its end
closes its connection, one read to its end goes back to the pool; a body cut short raises.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver

from gateway.upstream.provider import HttpCall
from techniques.core.errors import UpstreamFailed

_UNSENT: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_ALWAYS: Final = {"accept-encoding": "identity", "user-agent": "lockgate"}


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
        self._url = endpoint.base_url.rstrip("/")
        self._headers = {**_ALWAYS, **endpoint.headers}
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
            skip_auto_headers=_UNSENT,
            read_bufsize=2**18,
        )

    @asynccontextmanager
    async def post(self, call: HttpCall) -> AsyncGenerator[AiohttpResponse, None]:
        """Send *call*; see ``Transport.post``."""
        try:
            response = await self._session.post(
                self._url + call.path,
                data=call.body,
                headers={**self._headers, **call.headers},
                allow_redirects=False,
            )
        except TimeoutError as error:
            raise UpstreamFailed(
                "No connection to the provider in time.", "timeout", retryable=True
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamFailed(_told(error), "transport", retryable=True) from error
        try:
            yield AiohttpResponse(response)
        finally:
            response.release()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()


class AiohttpResponse:
    """A response whose head has come."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Return the body as it arrives."""
        content = self._response.content
        try:
            while chunk := await content.readany():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise UpstreamFailed(
                "The connection to the provider broke.", "transport", retryable=True
            ) from error


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


def _told(error: Exception) -> str:
    """Return what went wrong without the address: it may hold a credential."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return "No connection to the provider."
    return f"The call to the provider failed ({type(error).__name__})."
