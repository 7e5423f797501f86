"""The clients, each behind the same three verbs: open, post, read chunks."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Final, Protocol
from urllib.parse import urlsplit

import aiohttp
import httpx
import httpx2
import httpx_aiohttp
import pyreqwest.client

from bench.floor import HEADERS, Send, options, send_chunk, send_head, send_whole, serve
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Response

TIMEOUT_S: Final = 2.0
"""For a connection, and between two reads."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer and the body as it arrives."""

    status: int
    content_type: str
    chunks: AsyncIterator[bytes]


class Client(Protocol):
    """An HTTP client under test."""

    async def open(self) -> None:
        """Make the connection pool. Called once, in the event loop."""
        ...

    def post(self, url: str, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Post *body*; leaving the context ends the call."""
        ...

    async def close(self) -> None:
        """Close the pool."""
        ...


class Aiohttp:
    """aiohttp, as the gateway uses it."""

    async def open(self) -> None:
        """Make the pool."""
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_S, sock_read=TIMEOUT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        async with self._session.post(url, data=body, headers=HEADERS) as answer:
            kind = answer.headers.get("content-type", "")
            yield Answer(answer.status, kind, answer.content.iter_any())

    async def close(self) -> None:
        """Close the pool."""
        await self._session.close()


class Pyreqwest:
    """Rust's reqwest; without the buffer limit it holds back the first 64 KB."""

    async def open(self) -> None:
        """Make the pool."""
        wait = timedelta(seconds=TIMEOUT_S)
        builder = pyreqwest.client.ClientBuilder().read_timeout(wait).connect_timeout(wait)
        self._client = builder.max_connections(None).http1_only().no_proxy().build()

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        request = self._client.post(url).headers(HEADERS).body_bytes(body)
        async with request.build_streamed() as answer:
            yield Answer(answer.status, answer.get_header("content-type") or "", self._read(answer))

    async def _read(self, answer: pyreqwest.client.Response) -> AsyncGenerator[bytes, None]:
        read = answer.body_reader.read_chunk
        while (chunk := await read()) is not None:
            yield bytes(chunk)

    async def close(self) -> None:
        """Close the pool."""
        await self._client.close()


class PyreqwestUnbuffered(Pyreqwest):
    """The same with ``streamed_read_buffer_limit(0)``."""

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        request = self._client.post(url).headers(HEADERS).body_bytes(body)
        async with request.streamed_read_buffer_limit(0).build_streamed() as answer:
            yield Answer(answer.status, answer.get_header("content-type") or "", self._read(answer))


class Httpx2:
    """httpx2 over its own transport."""

    async def open(self) -> None:
        """Make the pool."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = httpx2.AsyncClient(limits=limits, timeout=TIMEOUT_S, trust_env=False)

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        async with self._client.stream("POST", url, content=body, headers=HEADERS) as answer:
            kind = answer.headers.get("content-type", "")
            yield Answer(answer.status_code, kind, answer.aiter_raw())

    async def close(self) -> None:
        """Close the pool."""
        await self._client.aclose()


class HttpxAiohttp:
    """httpx's interface over aiohttp's transport."""

    async def open(self) -> None:
        """Make the pool."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        transport = httpx_aiohttp.AiohttpTransport(limits=limits)
        self._client = httpx.AsyncClient(transport=transport, timeout=TIMEOUT_S, trust_env=False)

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        async with self._client.stream("POST", url, content=body, headers=HEADERS) as answer:
            kind = answer.headers.get("content-type", "")
            yield Answer(answer.status_code, kind, answer.aiter_raw())

    async def close(self) -> None:
        """Close the pool."""
        await self._client.aclose()


class Own:
    """The gateway's own driver: asyncio's protocol over llhttp."""

    async def open(self) -> None:
        """Make the pools."""
        self._accounts: dict[str, PooledTransport] = {}

    @asynccontextmanager
    async def post(self, url: str, body: bytes) -> AsyncGenerator[Answer, None]:
        """Post *body*."""
        parts = urlsplit(url)
        account = self._accounts.get(parts.netloc)
        if account is None:
            where = Endpoint(f"http://{parts.netloc}", {}, connect_s=TIMEOUT_S, allow_private=True)
            account = self._accounts[parts.netloc] = PooledTransport(where)
        call = HttpCall(parts.path, body, HEADERS)
        answer = await account.post(call, monotonic() + TIMEOUT_S)
        try:
            yield Answer(answer.status, answer.headers.get("content-type", ""), self._read(answer))
        finally:
            answer.close()

    async def _read(self, answer: Response) -> AsyncGenerator[bytes, None]:
        answer.wait_until(monotonic() + TIMEOUT_S)
        while chunk := await answer.read():
            yield chunk
            answer.wait_until(monotonic() + TIMEOUT_S)

    async def close(self) -> None:
        """Close the pools."""
        for account in self._accounts.values():
            await account.close()


KINDS: Final[dict[str, Callable[[], Client]]] = {
    "aiohttp": Aiohttp,
    "pyreqwest": PyreqwestUnbuffered,
    "pyreqwest-buffered": Pyreqwest,
    "httpx2": Httpx2,
    "httpx-aiohttp": HttpxAiohttp,
    "own": Own,
}


class Relay:
    """The floor over a client under test."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def open(self) -> None:
        """Make the pool."""
        await self._client.open()

    async def relay(self, url: str, body: bytes, send: Send, *, parse: bool) -> None:
        """Post *body* to *url* and send the answer on."""
        del parse
        async with self._client.post(url, body) as answer:
            if answer.content_type.startswith("text/event-stream"):
                await send_head(send, answer.status, answer.content_type)
                async for chunk in answer.chunks:
                    await send_chunk(send, chunk)
                await send_chunk(send, b"")
                return
            whole = b"".join([chunk async for chunk in answer.chunks])
            await send_whole(send, answer.status, answer.content_type, whole)


if __name__ == "__main__":
    parser: argparse.ArgumentParser = options()
    parser.add_argument("--client", choices=KINDS, required=True)
    chosen = parser.parse_args()
    serve(Relay(KINDS[chosen.client]()), chosen)
