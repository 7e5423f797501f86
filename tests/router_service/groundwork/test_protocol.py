"""What a client may do to the server before anyone knows who it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import monotonic

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from router_service.groundwork import protocol
from router_service.groundwork.protocol import Protocol
from router_service.groundwork.response import LEAVING
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

_OK = b"HTTP/1.1 200 OK"
_LATER = 61.0
_MUCH_LATER = 121.0


class Server:
    """Answers with the size of the body, begun when *free*, and ended when *whole*."""

    def __init__(self) -> None:
        self.state = ServerState()
        self.served = 0
        self.bodies: list[bytes] = []
        self.headers: list[list[tuple[bytes, bytes]]] = []
        self.left = 0
        self.padding = b""
        self.free = asyncio.Event()
        self.free.set()
        self.whole = asyncio.Event()
        self.whole.set()
        self.port = 0

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        read, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            read += message["body"]
            more = message["more_body"]
        scope["extensions"][LEAVING](self.leave)
        await self.free.wait()
        self.served += 1
        self.bodies.append(read)
        self.headers.append([*scope["headers"]])
        body = b"%d" % len(read) + self.padding
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await self.whole.wait()
        await send({"type": "http.response.body", "body": body})

    def leave(self) -> None:
        """Take note of a client that has left."""
        self.left += 1

    def look(self, after_s: float) -> None:
        """Look after the connections as if *after_s* seconds had passed."""
        for connection in tuple(self.state.connections):
            assert isinstance(connection, Protocol)
            connection.close_if_still(monotonic() + after_s)


@asynccontextmanager
async def serving() -> AsyncGenerator[Server, None]:
    server = Server()
    config = uvicorn.Config(
        server.app,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        interface="asgi3",
        proxy_headers=False,
    )
    config.load()
    listening = await asyncio.get_running_loop().create_server(
        lambda: Protocol(config, server.state, {}), "127.0.0.1", 0
    )
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        server.free.set()
        server.whole.set()
        listening.close()
        for connection in tuple(server.state.connections):
            assert isinstance(connection, Protocol)
            connection.transport.abort()


@asynccontextmanager
async def connected(
    server: Server,
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter], None]:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def asked(server: Server, *parts: bytes) -> bytes:
    """Send *parts*, each by itself, and return the answer to its end, or what came in a second."""
    async with connected(server) as (reader, writer):
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.002)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return answer + await reader.readexactly(size)


async def flood(writer: asyncio.StreamWriter) -> int:
    """Send 10 KB again and again, until that breaks; return how often it did not."""
    for sent in range(2000):
        writer.write(b"a" * 10_000)
        try:
            await writer.drain()
        except OSError:
            return sent
        await asyncio.sleep(0)
    return 2000


async def rest(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the end, however that comes."""
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    except OSError:
        return b""


def post(headers: bytes = b"", body: bytes = b"{}", path: bytes = b"/v1/x") -> bytes:
    size = b"content-length: %d\r\n" % len(body)
    return b"POST " + path + b" HTTP/1.1\r\nhost: x\r\n" + headers + size + b"\r\n" + body


def split(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


_LARGE = [
    post(b"x-a: " + b"a" * 70_000 + b"\r\n"),
    post(path=b"/" + b"a" * 70_000),
    post(b"".join(b"x-%d: %s\r\n" % (i, b"a" * 1000) for i in range(70))),
    post(b"".join(b"x%d: \r\n" % i for i in range(200))),
]


@pytest.mark.parametrize("head", _LARGE)
@pytest.mark.parametrize("size", [10_000, 1_000_000])
async def test_a_head_that_is_too_large_is_refused(head: bytes, size: int) -> None:
    async with serving() as server:
        answer = await asked(server, *split(head, size))
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b'"code":"head_too_large"' in answer
        assert server.served == 0


@pytest.mark.parametrize(
    "endless", [b"POST /", b"POST / HTTP/1.1\r\nx-a: ", b"POST / HTTP/1.1\r\nx-", b"\r\n" * 4]
)
async def test_a_head_without_end_ends_soon(
    endless: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "_LINGER_S", 0.01)
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(endless)
        sent = await flood(writer)
        del reader
        assert sent < 2000
        assert not server.state.connections


@pytest.mark.parametrize("size", [1_000_000, 20_000, 900])
async def test_a_large_head_within_the_bounds_is_served(size: int) -> None:
    head = post(b"".join(b"x-%d: %s\r\n" % (i, b"a" * 300) for i in range(190)))
    async with serving() as server:
        assert (await asked(server, *split(head, size))).startswith(_OK)


@pytest.mark.parametrize("size", [1_000_000, 50_000])
async def test_a_body_is_no_head(size: int) -> None:
    async with serving() as server:
        answer = await asked(server, *split(post(body=b"x" * 500_000), size))
        assert answer.endswith(b"500000")


async def test_a_head_behind_a_large_body_is_not_large() -> None:
    first, second = post(body=b"x" * 200_000), post(b"x-a: " + b"a" * 100 + b"\r\n")
    async with serving() as server, connected(server) as (reader, writer):
        both = first + second
        for part in (both[:1000], both[1000:-50], both[-50:]):
            writer.write(part)
            await asyncio.sleep(0.01)
        assert (await reader.readuntil(b"200000")).startswith(_OK)
        assert (await reader.readuntil(b"\r\n\r\n2")).startswith(_OK)


async def test_an_answer_under_way_is_not_mixed_with_a_refusal() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        server.free.clear()
        writer.write(post())
        await asyncio.sleep(0.01)
        for part in split(_LARGE[0], 20_000):
            writer.write(part)
            await asyncio.sleep(0.002)
        assert await rest(reader) == b""


async def test_what_is_no_http_is_answered_as_before() -> None:
    async with serving() as server:
        assert (await asked(server, b"nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST ", post()[:-6], post()[:-1], post() + post()[:20]],
    ids=["nothing", "method", "head", "body", "second"],
)
async def test_a_client_that_stands_still_is_let_go(sent: bytes) -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(sent)
        await asyncio.sleep(0.02)
        server.look(0)
        server.look(_LATER - 2)
        await asyncio.sleep(0.02)
        assert server.state.connections
        server.look(_LATER)
        left = await asyncio.wait_for(reader.read(), PATIENCE_S)
        assert left.startswith(_OK) is (b"{}" in sent)


async def test_a_head_that_drips_is_let_go() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(b"POST /")
        await asyncio.sleep(0.01)
        server.look(0)
        for after in (20, 40):
            writer.write(b"a")
            await asyncio.sleep(0.01)
            server.look(after)
        writer.write(b"a")
        await asyncio.sleep(0.01)
        server.look(_LATER)
        assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


async def test_a_body_that_goes_on_is_waited_for() -> None:
    body = b"x" * 10
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(post(body=body)[:-10])
        for turn in range(10):
            await asyncio.sleep(0.005)
            server.look(turn * 50)
            writer.write(body[turn : turn + 1])
        assert (await asyncio.wait_for(reader.readuntil(b"10"), PATIENCE_S)).startswith(_OK)


async def test_a_model_may_think_for_as_long_as_it_likes() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        server.free.clear()
        writer.write(post())
        await asyncio.sleep(0.01)
        for turn in range(5):
            server.look(turn * _LATER)
        server.free.set()
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n2"), PATIENCE_S)).startswith(_OK)
        for turn in range(5, 9):
            server.look(turn * _LATER)  # idle now, for which uvicorn has a time of its own
        writer.write(post())
        assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n2"), PATIENCE_S)).startswith(_OK)


async def test_a_server_looks_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_SWEEP_S", 0.01)
    monkeypatch.setattr(protocol, "_PATIENCE_S", 0.02)
    async with serving() as server:
        for _ in range(2):
            async with connected(server) as (reader, _writer):
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


_OFFERS = [
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAA\r\n",
    b"connection: upgrade\r\nupgrade: websocket\r\n",
    b"CONNECTION: UPGRADE\r\nUPGRADE: h2c\r\n",
]


@pytest.mark.parametrize("offer", _OFFERS)
@pytest.mark.parametrize("before", [b"", post(body=b"x" * 40_000)])
async def test_an_offer_to_upgrade_is_passed_over_and_the_body_is_read(
    offer: bytes, before: bytes
) -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(before + post(offer, b'{"a":1}'))
        await reader.readuntil(b"\r\n\r\n7")
        assert server.bodies[-1] == b'{"a":1}'


@pytest.mark.parametrize("word", [b"upgrade:", b"Upgrade :", b"UPGRADE:", b"\\nupgrade:"])
async def test_a_text_that_speaks_of_an_upgrade_stays_as_it_is(word: bytes) -> None:
    text = b'{"a":"' + word + b' now"}'
    async with serving() as server:
        head, body = post(body=text)[: -len(text)], text
        at = body.index(word)
        assert (await asked(server, head + body[:at], body[at:])).startswith(_OK)
        assert server.bodies == [text]


def chunked(*trailers: bytes) -> bytes:
    lines = b"".join(line + b"\r\n" for line in trailers)
    head = b"POST /v1/x HTTP/1.1\r\nhost: x\r\nauthorization: a\r\ntransfer-encoding: chunked\r\n"
    return head + b"\r\n2\r\n{}\r\n0\r\n" + lines + b"\r\n"


@pytest.mark.parametrize("offer", _OFFERS)
async def test_an_offer_is_passed_over_wherever_it_is_cut(offer: bytes) -> None:
    request = post(offer, b'{"a":1}')
    async with serving() as server, connected(server) as (reader, writer):
        for at in range(1, len(request)):
            writer.write(request[:at])
            await asyncio.sleep(0.001)
            writer.write(request[at:])
            await reader.readuntil(b"\r\n\r\n7")
        assert set(server.bodies) == {b'{"a":1}'}
        assert {len(headers) for headers in server.headers} == {len(offer.splitlines()) + 2}


@pytest.mark.parametrize("size", [1, 7, 64, 100, 1_000_000])
async def test_a_body_ends_where_its_head_says_whatever_lines_it_has(size: int) -> None:
    hidden = post(path=b"/v1/hidden")
    body = b"{}" + b"\nupgrade: x\nUpgrade : y" * 40 + b"\n" + hidden
    async with serving() as server, connected(server) as (reader, writer):
        for part in split(post(body=body) + post(body=b"last"), size):
            writer.write(part)
            await asyncio.sleep(0)
        await reader.readuntil(b"\r\n\r\n%d" % len(body))
        await reader.readuntil(b"\r\n\r\n4")
        assert [len(one) for one in server.bodies] == [len(body), 4]
        assert server.bodies[0].endswith(hidden)


@pytest.mark.parametrize("size", [1, 1_000_000])
async def test_what_comes_behind_a_body_is_no_header(size: int) -> None:
    request = chunked(b"authorization: b", b"x-lockgate-run: c")
    async with serving() as server:
        assert (await asked(server, *split(request, size))).startswith(_OK)
        assert (b"authorization", b"a") in server.headers[0]
        assert len(server.headers[0]) == 3


@pytest.mark.parametrize("endless", [b"0\r\nx-a: ", b"0\r\nx-", b"2;a=", b"2;a\r\n{}\r\n1;b="])
async def test_what_comes_beside_a_body_ends_soon(endless: bytes) -> None:
    async with serving() as server, connected(server) as (_reader, writer):
        writer.write(chunked()[:-5] + endless)
        assert await flood(writer) < 2000
        assert not server.state.connections


@pytest.mark.parametrize("behind", [b"", post(), post() + post(), post()[:-1], post()[:9]])
async def test_who_leaves_is_seen_whatever_was_sent_behind_the_request(behind: bytes) -> None:
    async with serving() as server:
        server.free.clear()
        async with connected(server) as (_reader, writer):
            writer.write(post() + behind)
            await asyncio.sleep(0.01)
            assert server.left == 0
        await asyncio.sleep(0.01)
        assert server.left == 1


async def test_a_refusal_does_not_stand_in_the_midst_of_an_answer() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        server.whole.clear()
        writer.write(post())
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"nonsense\r\n\r\n")
        assert await rest(reader) == b""
        assert server.left == 1


async def test_a_client_that_takes_nothing_of_its_answer_is_let_go() -> None:
    async with serving() as server, connected(server) as (reader, writer):
        server.padding = b"x" * 16 * 2**20
        writer.write(post())
        await asyncio.sleep(0.05)
        server.look(0)
        server.look(_MUCH_LATER - 2)
        await asyncio.sleep(0.01)
        assert server.state.connections
        await reader.readexactly(10 * 2**20)
        await asyncio.sleep(0.05)
        for after in (_MUCH_LATER, 2 * _MUCH_LATER - 2):
            server.look(after)
            await asyncio.sleep(0.01)
            assert server.state.connections
        server.look(2 * _MUCH_LATER)
        await asyncio.sleep(0.01)
        assert not server.state.connections
