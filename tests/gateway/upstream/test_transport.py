"""What every answer over a socket must keep apart from the next, and from a whole one."""

from __future__ import annotations

import asyncio
import gzip
import socket
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Response
from techniques.core.errors import UpstreamFailed
from tests.fakes.script import JSON_TYPE, Answer, raw, sse
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import PATIENCE_S, later

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

CALL = HttpCall("/chat/completions", b"{}", {})
PACKED = gzip.compress(b"x" * 5000)


@asynccontextmanager
async def opened(upstream: ScriptedUpstream) -> AsyncGenerator[PooledTransport, None]:
    url = f"http://127.0.0.1:{upstream.port}/v1"
    transport = PooledTransport(Endpoint(url, {"x-own": "1"}, PATIENCE_S, allow_private=True))
    try:
        yield transport
    finally:
        await transport.close()


async def body_of(response: Response) -> bytes:
    parts = []
    try:
        while part := await response.read():
            parts.append(part)
    finally:
        response.close()
    return b"".join(parts)


def packed(body: bytes, coding: str = "gzip") -> Answer:
    return raw(body, headers={**JSON_TYPE, "content-encoding": coding})


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "GZIP"])
async def test_a_body_that_is_packed_all_the_same_is_unpacked(
    upstream: ScriptedUpstream, coding: str
) -> None:
    upstream.plays(packed(zlib.compress(b"text") if coding == "deflate" else PACKED, coding))
    async with opened(upstream) as transport:
        body = await body_of(await transport.post(CALL, later()))

    assert body == (b"text" if coding == "deflate" else b"x" * 5000)
    assert upstream.asked[0].header("accept-encoding") == "identity"


@pytest.mark.parametrize("body", [b"not packed at all", PACKED[:-12]], ids=["corrupt", "cut"])
async def test_a_packed_body_that_cannot_be_unpacked_whole_is_broken_and_not_short(
    upstream: ScriptedUpstream, body: bytes
) -> None:
    upstream.plays(packed(body))
    async with opened(upstream) as transport:
        response = await transport.post(CALL, later())
        with pytest.raises(UpstreamFailed) as caught:
            await body_of(response)

    assert (caught.value.kind, caught.value.retryable) == ("transport", True)


async def test_what_follows_a_body_is_no_header_of_the_next_answer() -> None:
    async with trailing() as port:
        url = f"http://127.0.0.1:{port}"
        transport = PooledTransport(Endpoint(url, {}, PATIENCE_S, allow_private=True))
        answers = [await transport.post(CALL, later())]
        assert await body_of(answers[0]) == b"ab"
        answers.append(await transport.post(CALL, later()))
        assert await body_of(answers[1]) == b"ab"
        await transport.close()

    assert "x-sum" not in answers[1].headers


@asynccontextmanager
async def trailing() -> AsyncGenerator[int, None]:
    """Serve answers that have a trailer, on one connection."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError):
            while await reader.readuntil(b"\r\n\r\n{}"):
                writer.write(
                    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                    b"2\r\nab\r\n0\r\nx-sum: 7\r\n\r\n"
                )
        writer.close()
        ended.set()

    ended = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await ended.wait()


async def test_a_redirect_is_an_answer_and_not_followed(upstream: ScriptedUpstream) -> None:
    there = {"location": f"http://127.0.0.1:{upstream.port}/elsewhere"}
    upstream.plays(Answer(status=307, headers=there))
    async with opened(upstream) as transport:
        response = await transport.post(CALL, later())
        await body_of(response)

    assert response.status == 307
    assert [asked.path for asked in upstream.asked] == ["/v1/chat/completions"]


async def test_a_name_that_leads_to_a_private_address_is_refused_before_anything_is_sent(
    upstream: ScriptedUpstream,
) -> None:
    transport = PooledTransport(Endpoint(f"http://localhost:{upstream.port}", {}, PATIENCE_S))
    with pytest.raises(UpstreamFailed) as caught:
        await transport.post(CALL, later())
    await transport.close()

    assert caught.value.kind == "transport"
    assert "localhost" not in caught.value.message
    assert upstream.asked == []


async def test_answers_at_once_take_a_connection_each_and_later_ones_none(
    upstream: ScriptedUpstream,
) -> None:
    upstream.chooses(lambda _asked: raw(b"{}"))
    async with opened(upstream) as transport:
        first, second = (
            await transport.post(CALL, later()),
            await transport.post(CALL, later()),
        )
        await body_of(second)
        await body_of(first)
        for _ in range(4):
            await body_of(await transport.post(CALL, later()))

    assert len({asked.connection for asked in upstream.asked}) == 2


async def test_a_stream_arrives_piece_by_piece(upstream: ScriptedUpstream) -> None:
    upstream.plays(sse(b"data: 1\n\n", end="hold"))
    async with opened(upstream) as transport:
        response = await transport.post(CALL, later())
        assert await response.read() == b"data: 1\n\n"
        response.close()


async def test_a_closed_port_is_no_connection_and_the_address_is_not_told() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://user:pass@127.0.0.1:{held.getsockname()[1]}"
        transport = PooledTransport(Endpoint(url, {}, PATIENCE_S, allow_private=True))
        with pytest.raises(UpstreamFailed) as caught:
            await transport.post(CALL, later())

    assert (caught.value.kind, caught.value.retryable) == ("transport", True)
    assert "127.0.0.1" not in caught.value.message
