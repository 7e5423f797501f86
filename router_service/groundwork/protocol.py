"""The HTTP server's side of a connection, where uvicorn's own falls short.

A client that offers to upgrade to HTTP/2 (Java's does, on every plain connection) sends its body
all the same, and a server that does not upgrade has to read it (RFC 9110, section 7.8). The parser
stops at such a head, so the offer is taken out before it is read.

A head is bounded in size and in time, and a body must not stand still: whoever can connect could
otherwise fill the memory, or keep connections for ever, without a key.
"""

from __future__ import annotations

import re
from asyncio import AbstractEventLoop
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from router_service.groundwork.response import tell_left, through

_OFFER: Final = re.compile(rb"(?mi)^upgrade[ \t]*:")
_LATER_OFFER: Final = re.compile(rb"(?i)(?<=\n)upgrade[ \t]*:")
_LONGEST_OFFER: Final = 64
_REFUSED: Final = b"x-upgrade-refused:"
_MOST_HEAD: Final = 64 * 1024
_MOST_HEADERS: Final = 200
_PATIENCE_S: Final = 60.0
"""How long a whole head may take, and the next bytes of a body."""
_SWEEP_S: Final = 5.0
_LINGER_S: Final = 1.0
"""How long a refused client may still send: closed at once, it might not see the refusal."""
_SAID: Final = (
    b'{"error":{"message":"The head of the request is too large.",'
    b'"type":"invalid_request_error","param":null,"code":"head_too_large"}}'
)
_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(_SAID), _SAID)
)


class _HeadTooLarge(Exception):
    """Ends the reading of a head."""


class Protocol(HttpToolsProtocol):
    """uvicorn's protocol with bounds, and deaf to offers of an upgrade."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._heading = True  # whether a head is to come, or to go on
        self._begun = False  # whether there was a request
        self._head_size = 0  # bytes of the head that is coming in, at most
        self._refused = False
        self._moved = True  # whether a body went on since the last sweep
        self._still_since = monotonic()
        _watch(server_state, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request under way, if there is one."""
        super().connection_lost(exc)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            tell_left(cycle)

    def data_received(self, data: bytes) -> None:
        """Take bytes of requests.

        No body of a call is touched: a JSON text has no line that begins with a bare word. Bytes
        that go on with a body may begin with one; and the last line of it, often all, is not read.
        """
        if self._refused:
            return
        lines = data.rfind(b"\n") + _LONGEST_OFFER
        if data.find(b"pgrade", 0, lines) >= 0 or data.find(b"PGRADE", 0, lines) >= 0:
            data = (_OFFER if self._heading else _LATER_OFFER).sub(_REFUSED, data)
        self._head_size += len(data)
        began = not self._heading
        super().data_received(data)
        if not self._heading:
            self._head_size = 0
            self._moved = True
        elif began:
            self._head_size = self._size_read()
        elif self._head_size > _MOST_HEAD and not self._refused:
            self._refuse()

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._heading = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Begin the request, unless its head is too large."""
        if len(self.headers) > _MOST_HEADERS or (
            self._head_size > _MOST_HEAD and self._size_read() > _MOST_HEAD
        ):
            self._refused = True
            raise _HeadTooLarge
        self._heading, self._begun = False, True
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        super()._start_asgi_task(cycle, through(app, cycle, self.loop))

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        if self._refused:
            self._refuse()
        else:
            super().send_400_response(msg)

    def close_if_still(self, now: float) -> None:
        """Close the connection if its client has let us wait for too long (monotonic *now*)."""
        if self._moved or self.flow.read_paused or not self._awaited:
            self._moved = False
            self._still_since = now
        elif now - self._still_since > _PATIENCE_S:
            self.transport.close()

    @property
    def _awaited(self) -> bool:
        """Whether it is the client's turn; how long it may be idle is uvicorn's to say."""
        if self._heading:
            return True
        if self.cycle.response_complete:
            return self.timeout_keep_alive_task is None
        return self.cycle.more_body

    def _size_read(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse(self) -> None:
        self._refused = True
        if self._begun and not self.cycle.response_complete:
            self.transport.close()  # an answer is under way: nothing else can be said
            return
        self.transport.write(_TOO_LARGE)
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_S, self.transport.close)


_WATCHED: Final[WeakSet[ServerState]] = WeakSet()


def _watch(state: ServerState, loop: AbstractEventLoop) -> None:
    """See to it that the connections of a server are looked after."""
    if state not in _WATCHED:
        _WATCHED.add(state)
        loop.call_later(_SWEEP_S, _sweep, state, loop)


def _sweep(state: ServerState, loop: AbstractEventLoop) -> None:
    now = monotonic()
    for connection in tuple(state.connections):
        if isinstance(connection, Protocol):
            connection.close_if_still(now)
    _WATCHED.discard(state)
    if state.connections:
        _watch(state, loop)
