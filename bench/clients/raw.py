"""A client for plain HTTP/1.1 and no more: a measure of what a Python client must cost.

No TLS, no proxies, no timeouts. Not for use.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import cast
from urllib.parse import urlsplit

import httptools


class _Connection(asyncio.Protocol):
    """A connection and the answer that is coming in on it."""

    def __init__(self) -> None:
        self.open = True
        self.reset()

    def reset(self) -> None:
        self.headers: dict[bytes, bytes] = {}
        self.parts: deque[bytes] = deque()
        self.head = self.complete = False
        self.error: Exception | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self.error = error
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.open = False
        if not self.complete:
            self.error = exc or ConnectionError("closed before the end")
        self._wake()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self.head = True
        self.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        self.parts.append(data)

    def on_message_complete(self) -> None:
        self.complete = True
        self.open = self.open and self._parser.should_keep_alive()

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        while True:
            if self.parts:
                whole = self.parts.popleft() if len(self.parts) == 1 else b"".join(self.parts)
                self.parts.clear()
                yield whole
            elif self.complete:
                return
            elif self.error:
                raise self.error
            else:
                await self.wait()


def _take(idle: list[_Connection]) -> _Connection | None:
    while idle:
        connection = idle.pop()
        if connection.open:
            return connection
    return None


class RawClient:
    """Posts over connections that it keeps."""

    def __init__(self) -> None:
        self._idle: dict[str, list[_Connection]] = {}

    @asynccontextmanager
    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncGenerator[_Connection, None]:
        """Post *body*; a connection not read to the end is closed."""
        parts = urlsplit(url)
        idle = self._idle.setdefault(parts.netloc, [])
        connection = _take(idle)
        if connection is None:
            loop = asyncio.get_running_loop()
            host, port = str(parts.hostname), parts.port or 80
            _, connection = await loop.create_connection(_Connection, host, port)
        connection.reset()
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        head = f"POST {parts.path} HTTP/1.1\r\nhost: {parts.netloc}\r\n{lines}"
        connection.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        try:
            while not connection.head:
                if connection.error:
                    raise connection.error
                await connection.wait()
            yield connection
        finally:
            if connection.complete and connection.open:
                idle.append(connection)
            else:
                connection.transport.abort()

    def close(self) -> None:
        """Close what is kept."""
        for idle in self._idle.values():
            for connection in idle:
                connection.transport.close()
