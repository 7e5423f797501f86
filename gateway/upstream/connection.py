"""One HTTP/1.1 connection to a provider.

The parser is llhttp, which Node uses. What is written here is only what a gateway needs of a
client: one request at a time, its answer handed on byte for byte as it arrives, and an end that is
told from being cut off.
"""

from __future__ import annotations

import asyncio
import select
from time import monotonic
from typing import Final, cast

import httptools

from gateway.upstream.answer import MOST_WAITING, Answer
from gateway.upstream.faults import broken, endless
from techniques.core.errors import UpstreamFailed

_MOST_BARE: Final = 256 * 1024
"""Bytes in a row that bring nothing of a body: a head, what stands between chunks, a trailer."""
_FINAL: Final = 200
_BODILESS: Final = (204, 304)
_RACE_S: Final = 1.0
"""A kept connection that ends so soon after a request did so before that came in."""


class Connection(asyncio.Protocol):
    """A connection. ``reusable``: the last answer on it came to its end, and another may follow."""

    def __init__(self) -> None:
        self.reusable = True
        self.idle_since = 0.0
        self.transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._answer: Answer[Connection] | None = None  # what is coming in
        self._fields: list[tuple[bytes, bytes]] = []
        self._bare = 0
        self._sized = False
        self._paused = False
        self._served = False  # whether it was used before
        self._race_until = 0.0  # not 0: it was kept, and nothing of an answer has come
        self._unread = select.poll()

    @property
    def quiet(self) -> bool:
        """Whether another call may follow: nothing came since that the loop has not seen yet."""
        return self.reusable and not self.transport.is_closing() and not self._unread.poll(0)

    def send(self, head: bytes, body: bytes, answer: Answer[Connection]) -> None:
        """Send a whole request; what comes back is its *answer*."""
        self.reusable = False
        self._answer = answer
        self._bare = 0
        self._race_until = monotonic() + _RACE_S if self._served else 0.0
        self._served = True
        # Calls that begin together go out together: their streams then tick together, and one
        # waking serves them all.
        asyncio.get_running_loop().call_soon(self.transport.writelines, (head, body))
        if self.transport.is_closing():
            self.connection_lost(None)

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
        self._unread.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the answer; such that nobody asked for end the connection."""
        answer = self._answer
        if answer is None:
            self.reusable = False
            self.transport.abort()
            return
        if self._race_until:
            if self.transport.get_write_buffer_size():  # an answer to what was not yet asked
                answer.missed = True
                self._refuse(answer, broken(None))
                return
            self._race_until = 0.0
        before = answer.size
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._refuse(answer, broken(error))
            return
        if answer.size != before:
            self._bare = 0
            if answer.size > MOST_WAITING and not self._paused:
                self._paused = True
                self.transport.pause_reading()
        else:
            self._bare += len(data)
            if self._bare > _MOST_BARE:
                self._refuse(answer, endless())
        answer.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the answer: it is complete if only the connection's end could say so."""
        self.reusable = False
        answer, self._answer = self._answer, None
        if answer is None:
            return
        if answer.status and not self._sized and exc is None:
            answer.finish()
            answer.wake()
        else:
            answer.missed = monotonic() < self._race_until
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

    def _refuse(self, answer: Answer[Connection], failure: UpstreamFailed) -> None:
        """Read no more; an answer that is complete stands, whatever followed it."""
        self.reusable = False
        self._answer = None
        self.transport.abort()
        if answer.complete:
            answer.wake()
        else:
            answer.fail(failure)
