"""The HTTP server's side of a connection, where uvicorn's own falls short.

A client that offers to upgrade to HTTP/2 (Java's does, on every plain connection) sends its body
all the same, and a server that does not upgrade has to read it (RFC 9110, section 7.8). The parser
stops at such a head, so the offer is taken out before it is read: see ``Offers``.

A head is bounded in size and in time, a body must not stand still, and an answer must be taken:
whoever can connect could otherwise fill the memory, or keep connections for ever, without a key.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from time import monotonic
from typing import Any, Final
from weakref import WeakSet

from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from router_service.groundwork.offers import Offers
from router_service.groundwork.response import tell_left, through

_MOST_HEAD: Final = 64 * 1024
_MOST_HEADERS: Final = 200
_PATIENCE_S: Final = 60.0
"""How long a whole head may take, and the next bytes of a body."""
_UNREAD_S: Final = 120.0
"""How long a client may take nothing of what is there for it."""
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
        self._offers = Offers()
        self._head_size = 0  # bytes of the head, or of what follows a body, at most
        self._refused = False
        self._served: RequestResponseCycle | None = None  # of several requests the one at work
        self._moved = True  # whether a body went on since the last sweep
        self._still_since = monotonic()
        self._unsent = 0  # bytes that were to be taken at the last sweep
        self._took = False  # whether so much was taken since that more could be written
        self._taken_at = self._still_since
        _watch(server_state, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request under way, if there is one; uvicorn tells the last that came."""
        super().connection_lost(exc)
        if (served := self._under_way) is not None:
            served.disconnected = True
            served.message_event.set()
            tell_left(served)

    def data_received(self, data: bytes) -> None:
        """Take bytes of requests."""
        if self._refused or self.transport.is_closing():
            return
        data, later = self._offers.passed_over(data, heading=self._heading)
        self._head_size += len(data)
        super().data_received(data)
        if not self._heading:
            self._moved = True
        if self._head_size > _MOST_HEAD and not self._refused:
            self._refuse()
        elif later and not self._offers.hold(later, heading=self._heading):
            self.data_received(later)

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
        self._heading, self._head_size = False, 0
        super().on_headers_complete()
        self.headers = []  # trailers come to the same list, and are no headers

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._head_size = 0
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._served = cycle
        super()._start_asgi_task(cycle, through(app, cycle, self.loop))

    def send_400_response(self, msg: str) -> None:
        """Answer what cannot be read."""
        if self._refused:
            self._refuse()
        elif (served := self._under_way) is not None and served.response_started:
            self.transport.close()  # it would stand in the midst of that
        else:
            super().send_400_response(msg)

    def resume_writing(self) -> None:
        """Write on: what waited was taken."""
        self._took = True
        super().resume_writing()

    def close_if_still(self, now: float) -> None:
        """Close the connection if its client has let us wait for too long (monotonic *now*)."""
        unsent = self.transport.get_write_buffer_size()
        waits = unsent and (self.flow.write_paused or self.transport.is_closing())
        if not waits or unsent < self._unsent or self._took:
            self._taken_at, self._took = now, False
        elif now - self._taken_at > _UNREAD_S:
            self.transport.abort()
        self._unsent = unsent
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

    @property
    def _under_way(self) -> RequestResponseCycle | None:
        served = self._served
        return None if served is None or served.response_complete else served

    def _size_read(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _refuse(self) -> None:
        self._refused = True
        if self._under_way is not None or not self._heading:
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
