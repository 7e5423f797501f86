"""How a response is written: uvicorn's own way, but its head and body in one piece.

uvicorn writes the head at once, looks at each header by itself, and then writes the body: two
system calls, and as many searches as there are headers twice.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, Transport
from collections.abc import Awaitable, Callable
from typing import Final, cast

from uvicorn._types import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    HTTPResponseStartEvent,
    Scope,
)
from uvicorn.protocols.http.httptools_impl import (
    HEADER_RE,
    HEADER_VALUE_RE,
    STATUS_LINE,
    RequestResponseCycle,
)

_RARE: Final = frozenset({b"connection", b"transfer-encoding"})
LEAVING: Final = "lockgate.leaving"
"""The extension of ASGI by which a client's leaving is told to a callback, and None: to nobody.

Who waits for that with ``receive`` needs a task for it.
"""
_BODILESS: Final = (204, 304)
_CHUNKED: Final = (b"transfer-encoding", b"chunked")


class _Joining:
    """A transport on which the head of a response waits for what follows it."""

    __slots__ = ("_transport", "head", "is_closing", "on_left")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.is_closing = transport.is_closing
        self.head = b""
        self.on_left: Callable[[], object] | None = None

    def write(self, data: bytes) -> None:
        """Write *data*, after the head if that waits."""
        if self.head:
            data, self.head = self.head + data, b""
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection once all is written."""
        self.write_head()
        self._transport.close()

    def write_head(self) -> None:
        """Write the head if it waits."""
        if self.head and not self.is_closing():
            self.write(b"")


def through(
    app: ASGI3Application, cycle: RequestResponseCycle, loop: AbstractEventLoop
) -> ASGI3Application:
    """Return *app* as it serves *cycle*.

    The head waits until the body follows, which it mostly does at once, or the loop has its turn.
    """
    joining = _Joining(cycle.transport)
    cycle.transport = cast("Transport", joining)
    unsized = cycle.scope["http_version"] == "1.0"

    def send(message: ASGISendEvent) -> Awaitable[None]:
        nonlocal unsized
        if not cycle.response_started and message["type"] == "http.response.start":
            head = _head(cycle, message)
            if head is not None:
                joining.head = head
                loop.call_soon(joining.write_head)
                return _at_once()
        if unsized:
            unsized = _unchunked(cycle, message)
        return cycle.send(message)  # with no coroutine around it: a stream has very many

    def leaving(on_left: Callable[[], object] | None) -> None:
        joining.on_left = on_left
        if on_left is not None and cycle.disconnected:
            loop.call_soon(on_left)

    def serve(scope: Scope, receive: ASGIReceiveCallable, _: ASGISendCallable) -> Awaitable[None]:
        return app(cast("Scope", {**scope, "extensions": {LEAVING: leaving}}), receive, send)

    return serve


def _unchunked(cycle: RequestResponseCycle, message: ASGISendEvent) -> bool:
    """Have a body of unknown size end with the connection: HTTP/1.0 knows no chunks.

    Return whether it is one. Source: RFC 9112, section 6.1.
    """
    if message["type"] == "http.response.start":
        if any(name.lower() == b"content-length" for name, _ in message.get("headers", ())):
            return False
        cycle.chunked_encoding = False
    elif message["type"] == "http.response.body":
        cycle.expected_content_length = len(message.get("body", b""))
    return True


async def _at_once() -> None:
    pass


def tell_left(cycle: RequestResponseCycle) -> None:
    """Tell who wants to know that the client of *cycle* has left before the end."""
    joining = cycle.transport
    if isinstance(joining, _Joining) and joining.on_left is not None:
        joining.on_left()


def _head(cycle: RequestResponseCycle, message: HTTPResponseStartEvent) -> bytes | None:
    """Return the head, and tell *cycle* how its body goes; None: a rare one, left to uvicorn."""
    if cycle.access_log or not cycle.keep_alive or cycle.scope["method"] == "HEAD":
        return None
    if cycle.disconnected or cycle.flow.write_paused:
        return None
    status, headers = message["status"], [*cycle.default_headers, *message.get("headers", ())]
    said = dict(headers)
    names, values = b"".join(said), b"".join([value for _, value in headers])
    if not _RARE.isdisjoint(said) or status in _BODILESS or names != names.lower():
        return None
    if HEADER_RE.search(names) or HEADER_VALUE_RE.search(values):
        return None  # which is refused there
    size = said.get(b"content-length")
    if size is None:
        headers.append(_CHUNKED)
    else:
        cycle.expected_content_length = int(size)
    cycle.chunked_encoding = size is None
    cycle.response_started, cycle.waiting_for_100_continue = True, False
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return b"%b%b\r\n" % (STATUS_LINE[status], lines)
