"""One HTTP/1.1 connection to a provider, and the answers that come in on it.

The parser is llhttp, which Node uses. What is written here is only what a gateway needs of a
client: one request at a time, its answer handed on byte for byte as it arrives, and an end that is
told from being cut off.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import Final, Protocol, cast

import httptools

from techniques.core.errors import UpstreamFailed

_MOST_HEAD: Final = 256 * 1024
_MOST_WAITING: Final = 256 * 1024
_FINAL: Final = 200
_BODILESS: Final = (204, 304)
_PACKED: Final = ("gzip", "x-gzip", "deflate")
_WINDOW: Final = zlib.MAX_WBITS | 32  # zlib's or gzip's header, as it comes


class Connection(asyncio.Protocol):
    """A connection. ``reusable``: the last answer on it came to its end, and another may follow."""

    def __init__(self) -> None:
        self.reusable = True
        self.idle_since = 0.0
        self.transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer | None = None  # what is coming in
        self._fields: list[tuple[bytes, bytes]] = []
        self._head_size = 0
        self._sized = False
        self._paused = False

    def send(self, head: bytes, body: bytes, answer: Answer) -> None:
        """Send a whole request; what comes back is its *answer*."""
        self.reusable = False
        self._answer = answer
        self._head_size = 0
        self.transport.writelines((head, body))
        if self.transport.is_closing():
            answer.fail(broken(None))

    def leave(self) -> None:
        """Let the answer go; the connection is closed unless another can follow."""
        self._answer = None
        if self.reusable and not self.transport.get_write_buffer_size():
            self.resume()
        else:
            self.reusable = False
            self.transport.abort()

    def resume(self) -> None:
        """Read on, if reading was paused because too much waited."""
        if self._paused:
            self._paused = False
            self.transport.resume_reading()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep *transport*."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the answer; such that nobody asked for end the connection."""
        answer = self._answer
        if answer is None:
            self.reusable = False
            self.transport.abort()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(answer, error)
            return
        if not answer.status:
            self._head_size += len(data)
            if self._head_size > _MOST_HEAD:
                self._refuse(answer, None)
        elif answer.size > _MOST_WAITING and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        answer.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the answer: it is complete if only the connection's end could say so."""
        self.reusable = False
        answer = self._answer
        if answer is None:
            return
        if answer.status and not self._sized and exc is None:
            answer.finish()
            answer.wake()
        else:
            answer.fail(broken(exc))

    def on_message_begin(self) -> None:
        """Note an answer that nobody asked for, and forget what followed the one before."""
        self._fields.clear()
        if self._answer is None:
            self.reusable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take one header."""
        self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """Begin the answer, unless the head is only informational."""
        fields, self._fields = self._fields, []
        status = self._parser.get_status_code()
        if self._answer is None or status < _FINAL:
            return
        headers: dict[str, str] = {}
        for raw_name, raw_value in fields:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self._sized = (
            "content-length" in headers or "transfer-encoding" in headers or status in _BODILESS
        )
        self._answer.begin(status, headers)

    def on_body(self, data: bytes) -> None:
        """Take some of the body."""
        if self._answer is not None:
            self._answer.add(data)

    def on_message_complete(self) -> None:
        """Note the end; what follows an informational head is still to come."""
        answer = self._answer
        if answer is not None and answer.status:
            answer.finish()
            self.reusable = self._parser.should_keep_alive()
            self._answer = None

    def _refuse(self, answer: Answer, error: Exception | None) -> None:
        self.reusable = False
        answer.fail(broken(error))


class _Unpacking(Protocol):
    """What zlib unpacks with."""

    @property
    def eof(self) -> bool:
        """Whether the end has come."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """Return what *data* unpacks to."""
        ...


class Answer:
    """The answer to one call, read as it comes in. Closing it tells *over*, once.

    ``status`` is 0 until the head has come; header names are lower case. ``size`` is how many
    bytes wait to be read.
    """

    __slots__ = (
        "_error",
        "_loop",
        "_over",
        "_packed",
        "_parts",
        "_unpack",
        "_waiter",
        "complete",
        "connection",
        "due",
        "headers",
        "size",
        "status",
    )

    def __init__(
        self, connection: Connection, until: float, over: Callable[[Answer], None]
    ) -> None:
        self.connection = connection
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.size = 0
        self.due = until
        self._over: Callable[[Answer], None] | None = over
        self._parts: list[bytes] = []
        self._error: UpstreamFailed | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._packed = False
        self._unpack: _Unpacking | None = None

    async def headed(self) -> None:
        """Wait for the head.

        Raises:
            UpstreamFailed: It did not come.
        """
        while not self.status:
            if self._error is not None:
                raise self._error
            await self._more()

    async def read(self) -> bytes:
        """Return the next bytes; see ``Response.read``."""
        while not self._parts:
            if self._error is not None:
                raise self._error
            if self.complete:
                return b""
            await self._more()
        parts = self._parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        parts.clear()
        if self.size > _MOST_WAITING:
            self.connection.resume()
        self.size = 0
        return data

    def wait_until(self, moment: float) -> None:
        """Wait for bytes until *moment* and no longer; see ``Response.wait_until``."""
        self.due = moment

    def close(self) -> None:
        """End the call."""
        over, self._over = self._over, None
        if over is not None:
            over(self)

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Take the head."""
        self.status = status
        self.headers = headers
        if headers.get("content-encoding", "").lower() in _PACKED:  # although we did not ask for it
            self._packed = True

    def add(self, data: bytes) -> None:
        """Take some of the body."""
        if self._packed:
            self._unpack = self._unpack or zlib.decompressobj(_WINDOW)
            try:
                data = self._unpack.decompress(data)
            except zlib.error as error:
                self._error = broken(error)
                return
            if not data:
                return
        self._parts.append(data)
        self.size += len(data)

    def finish(self) -> None:
        """Take the end; one that comes in the middle of what is packed is none."""
        if self._unpack is not None and not self._unpack.eof:
            self._error = self._error or broken(None)
        self.complete = True

    def fail(self, error: UpstreamFailed) -> None:
        """End the answer with *error*, after what has come of it."""
        self._error = self._error or error
        self.wake()

    @property
    def waits(self) -> bool:
        """Whether someone waits for bytes."""
        return self._waiter is not None

    def expire(self) -> None:
        """End a wait that has lasted too long."""
        self.fail(UpstreamFailed("The provider fell silent.", "timeout", retryable=True))

    def wake(self) -> None:
        """Let whoever waits look again."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _more(self) -> asyncio.Future[None]:
        self._waiter = waiter = self._loop.create_future()
        return waiter


def broken(error: Exception | None) -> UpstreamFailed:
    """Return the failure of a connection that broke, by *error* if it is known."""
    failed = UpstreamFailed("The connection to the provider broke.", "transport", retryable=True)
    failed.__cause__ = error
    return failed
