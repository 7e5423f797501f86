"""How responses are written, and who is told that a client has left."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from router_service.groundwork.protocol import Protocol
from router_service.groundwork.response import LEAVING

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

App = Callable[[Scope, Receive, Send], Awaitable[None]]
_SIZED = [(b"content-type", b"text/plain"), (b"content-length", b"2")]


class Wire(asyncio.Transport):
    """A transport that keeps what is written to it, write by write."""

    def __init__(self) -> None:
        super().__init__({})
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        assert not self.closed
        self.writes.append(bytes(data))

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def served(
    app: App, request: bytes = b"GET / HTTP/1.1\r\n\r\n", wire: Wire | None = None
) -> tuple[Protocol, Wire]:
    """Return the connection on which *request* has come to *app*, and its wire."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        interface="asgi3",
        access_log=False,
    )
    config.load()
    protocol, wire = Protocol(config, ServerState(), {}), wire or Wire()
    protocol.connection_made(wire)
    protocol.data_received(request)
    return protocol, wire


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def begin(send: Send, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def say(send: Send, body: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def test_a_head_and_the_body_that_follows_at_once_are_one_write() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, _SIZED)
        await say(send, b"ok")

    protocol, wire = served(app)
    await settled()

    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\n"
    assert wire.writes == [head + b"ok"]
    protocol.connection_lost(None)


async def test_a_stream_has_its_head_with_its_first_piece_and_each_other_at_once() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, [])
        await say(send, b"a", more=True)
        await say(send, b"b", more=True)
        await say(send, b"")

    protocol, wire = served(app)
    await settled()

    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    assert wire.writes == [head + b"1\r\na\r\n", b"1\r\nb\r\n", b"0\r\n\r\n"]
    protocol.connection_lost(None)


async def test_a_head_does_not_wait_for_a_body_that_is_late() -> None:
    free = asyncio.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, _SIZED)
        await free.wait()
        await say(send, b"ok")

    protocol, wire = served(app)
    await settled()

    assert len(wire.writes) == 1
    assert wire.writes[0].endswith(b"\r\n\r\n")
    free.set()
    await settled()
    assert wire.writes[1:] == [b"ok"]
    protocol.connection_lost(None)


@pytest.mark.parametrize(
    "request_head",
    [b"HEAD / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n"],
)
async def test_a_rare_response_is_written_as_uvicorn_does(request_head: bytes) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, _SIZED)
        await say(send, b"ok")

    protocol, wire = served(app, request_head)
    await settled()

    told = b"".join(wire.writes)
    assert told.startswith(b"HTTP/1.1 200 OK\r\n")
    assert told.endswith(b"\r\n\r\n" if request_head.startswith(b"HEAD") else b"ok")
    protocol.connection_lost(None)


@pytest.mark.parametrize("header", [(b"x", b"a\r\nb: c"), (b"x y", b"a"), (b"x", b"a\0")])
async def test_a_header_that_is_no_line_of_its_own_is_never_written(
    header: tuple[bytes, bytes],
) -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        with pytest.raises(RuntimeError, match="Invalid HTTP header"):
            await begin(send, [*_SIZED, header])

    protocol, wire = served(app)
    await settled()

    assert not any(header[1] in one for one in wire.writes if header[1] != b"a")
    protocol.connection_lost(None)


async def test_who_wants_to_know_is_told_once_that_the_client_has_left() -> None:
    told: list[str] = []
    over = asyncio.Event()

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        scope["extensions"][LEAVING](lambda: told.append("left"))
        await over.wait()

    protocol, _ = served(app)
    await settled()
    assert told == []
    protocol.connection_lost(ConnectionResetError())

    assert told == ["left"]
    over.set()
    await settled()


@pytest.mark.parametrize("answered", [True, False])
async def test_nobody_is_told_who_does_not_want_to_know_any_more(*, answered: bool) -> None:
    told: list[str] = []
    over = asyncio.Event()

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        leaving = scope["extensions"][LEAVING]
        leaving(lambda: told.append("left"))
        if answered:
            await begin(send, _SIZED)
            await say(send, b"ok")
        else:
            leaving(None)
        await over.wait()

    protocol, _ = served(app)
    await settled()
    protocol.connection_lost(ConnectionResetError())

    assert told == []
    over.set()
    await settled()


async def test_who_asks_late_is_told_too() -> None:
    told: list[str] = []
    late = asyncio.Event()

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        await late.wait()
        scope["extensions"][LEAVING](lambda: told.append("left"))

    protocol, _ = served(app)
    await settled()
    protocol.connection_lost(ConnectionResetError())
    late.set()
    await settled()

    assert told == ["left"]


_OLD = b"GET / HTTP/1.0\r\n\r\n"


async def test_a_client_of_http_1_0_gets_no_chunks() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, [])
        await say(send, b"a", more=True)
        await say(send, b"", more=True)
        await say(send, b"bc")

    protocol, wire = served(app, _OLD)
    await settled()

    head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
    assert b"".join(wire.writes) == head + b"abc"
    assert wire.closed
    protocol.connection_lost(None)


async def test_a_body_of_known_size_has_it_for_a_client_of_http_1_0_too() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, _SIZED)
        await say(send, b"o", more=True)
        await say(send, b"k")

    protocol, wire = served(app, _OLD)
    await settled()

    assert b"".join(wire.writes).endswith(b"content-length: 2\r\nconnection: close\r\n\r\nok")
    assert wire.closed
    protocol.connection_lost(None)


class Slow(Wire):
    """A wire on which always as much waits to be taken."""

    aborted = False

    def get_write_buffer_size(self) -> int:
        return 100_000

    def abort(self) -> None:
        self.aborted = True


async def test_who_takes_an_answer_slowly_is_not_let_go() -> None:
    free = asyncio.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await begin(send, [])
        await free.wait()

    wire = Slow()
    protocol, _ = served(app, wire=wire)
    await settled()
    now = monotonic()
    for turn in range(5):
        protocol.pause_writing()
        protocol.close_if_still(now + 100 * turn)
        protocol.resume_writing()  # some of it was taken, and as much written
    protocol.pause_writing()
    protocol.close_if_still(now + 500)
    protocol.close_if_still(now + 619)
    assert not wire.aborted

    protocol.close_if_still(now + 621)
    assert wire.aborted
    free.set()
    protocol.connection_lost(None)
