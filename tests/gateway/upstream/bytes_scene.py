"""A provider that plays exact bytes, and the driver's pool that calls it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic

import pytest

from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from techniques.core.errors import UpstreamFailed
from tests.patience import PATIENCE_S

CALL = HttpCall("/chat/completions", b'{"a":1}', {"content-type": "application/json"})
SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNK = b"7\r\ndata: x\r\n"
HANG = "hang"
CLOSE = "close"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Peer:
    """A provider. *script* is what it does with each request, one entry a request."""

    def __init__(self, *script: list[bytes | str]) -> None:
        self.script = list(script)
        self.requests: list[bytes] = []
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.came = asyncio.Event()
        self.gone = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Play the script on one connection."""
        self.connections += 1
        self.writers.append(writer)
        self.came.set()
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(size))
                await self._play(self.script.pop(0), reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()

    async def _play(
        self, steps: list[bytes | str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for step in steps:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
                continue
            if step == HANG:
                await reader.read(1)
            raise ConnectionError(step)


@asynccontextmanager
async def playing(
    *script: list[bytes | str],
    pool: int = 0,
    host: str = "127.0.0.1",
    tls: ssl.SSLContext | None = None,
    proxy: str | None = None,
) -> AsyncGenerator[tuple[PooledTransport, Peer], None]:
    peer = Peer(*script)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    transport = PooledTransport(
        Endpoint(
            f"{'https' if tls else 'http'}://{host}:{peer.port}/v1/",
            {"authorization": "Bearer k"},
            connect_s=PATIENCE_S,
            pool=pool,
            allow_private=True,
            proxy=proxy,
        )
    )
    try:
        yield transport, peer
    finally:
        await transport.close()
        server.close()


async def whole(transport: PooledTransport, silence_s: float = PATIENCE_S) -> bytes:
    answer = await transport.post(CALL, monotonic() + silence_s)
    try:
        body = b""
        while chunk := await answer.read():
            body += chunk
        return body
    finally:
        answer.close()


async def failing(read: Callable[[], Awaitable[object]]) -> UpstreamFailed:
    with pytest.raises(UpstreamFailed) as caught:
        await read()
    return caught.value
