"""The driver against servers that play exact bytes."""

from __future__ import annotations

import errno
import gzip
import os
import socket
import ssl

import anyio
import pytest

from gateway.upstream.addresses import Addresses, PrivateAddress, unreached
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from tests.gateway.upstream.bytes_scene import (
    CALL,
    CHUNK,
    CLOSE,
    HANG,
    SSE,
    WHOLE,
    failing,
    playing,
    whole,
)
from tests.patience import PATIENCE_S, later, shortly, until

UNREACHABLE = os.strerror(errno.EHOSTUNREACH).replace("N", "n", 1)

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def test_a_call_is_sent_as_it_is_with_the_accounts_headers() -> None:
    async with playing([WHOLE]) as (transport, peer):
        assert await whole(transport) == b"{}"
    head, _, body = peer.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST /v1/chat/completions HTTP/1.1"
    assert b"host: 127.0.0.1:%d" % peer.port in lines
    assert b"authorization: Bearer k" in lines
    assert body == b'{"a":1}'


async def test_a_connection_read_to_its_end_is_used_again() -> None:
    async with playing([WHOLE], [SSE, CHUNK, b"0\r\n\r\n"], [WHOLE]) as (transport, peer):
        assert [await whole(transport) for _ in range(3)] == [b"{}", b"data: x", b"{}"]
        assert peer.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        WHOLE + b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nstray",
    ],
)
async def test_a_connection_that_cannot_be_trusted_further_is_not(answer: bytes) -> None:
    async with playing([answer], [WHOLE]) as (transport, peer):
        assert await whole(transport) == b"{}"
        assert await whole(transport) == b"{}"
        assert peer.connections == 2


async def test_an_idle_connection_that_the_provider_closed_is_not_used() -> None:
    async with playing([WHOLE, CLOSE], [WHOLE]) as (transport, peer):
        await whole(transport)
        await peer.gone.wait()
        await anyio.sleep(0.01)
        assert await whole(transport) == b"{}"
        assert peer.connections == 2


async def test_leaving_in_the_middle_closes_the_connection() -> None:
    async with playing([SSE, CHUNK, HANG]) as (transport, peer):
        answer = await transport.post(CALL, later())
        assert await answer.read() == b"data: x"
        answer.close()
        with anyio.fail_after(PATIENCE_S):
            await peer.gone.wait()


async def test_a_call_cancelled_before_its_head_closes_the_connection() -> None:
    async with playing([HANG]) as (transport, peer):
        async with anyio.create_task_group() as group:
            group.start_soon(transport.post, CALL, later())
            await until(lambda: len(peer.requests) == 1)
            group.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE_S):
            await peer.gone.wait()
        assert len(peer.requests) == 1


@pytest.mark.parametrize(
    ("steps", "read"),
    [
        ([SSE, CHUNK, CLOSE], b"data: x"),
        ([SSE, b"40\r\ndata: x", CLOSE], b"data: x"),
        ([SSE, CHUNK + b"zz\r\n"], b"data: x"),
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}", CLOSE], b"{}"),
    ],
)
async def test_a_body_that_is_cut_short_fails_after_what_came(
    steps: list[bytes | str], read: bytes
) -> None:
    async with playing(steps) as (transport, _):
        answer = await transport.post(CALL, later())
        assert await answer.read() == read
        error = await failing(answer.read)
        answer.close()
    assert (error.kind, error.retryable) == ("transport", True)


@pytest.mark.parametrize("steps", [[CLOSE], [b"no HTTP at all\r\n\r\n"], [b"HTTP/1.1 20"]])
async def test_no_head_is_a_broken_connection(steps: list[bytes | str]) -> None:
    async with playing([*steps, CLOSE]) as (transport, _):
        error = await failing(lambda: transport.post(CALL, later()))
    assert (error.kind, error.retryable) == ("transport", True)


async def test_a_head_without_end_is_given_up() -> None:
    endless = b"HTTP/1.1 200 OK\r\n" + b"x-more: yes\r\n" * 30_000
    async with playing([endless, HANG]) as (transport, _):
        error = await failing(lambda: transport.post(CALL, later()))
    assert error.kind == "invalid_answer"


async def test_a_body_without_a_size_ends_with_its_connection() -> None:
    async with playing([b"HTTP/1.1 200 OK\r\n\r\n", b"{}", CLOSE]) as (transport, _):
        assert await whole(transport) == b"{}"


async def test_an_informational_head_is_not_the_answer() -> None:
    async with playing([b"HTTP/1.1 100 Continue\r\n\r\n", WHOLE], [WHOLE]) as (transport, peer):
        answer = await transport.post(CALL, later())
        assert (answer.status, await answer.read(), await answer.read()) == (200, b"{}", b"")
        answer.close()
        assert await whole(transport) == b"{}"
        assert peer.connections == 1


async def test_silence_is_told_from_a_broken_connection() -> None:
    async with playing([WHOLE], [HANG]) as (transport, peer):
        await whole(transport)  # so that the next call has nothing to wait for but its answer
        before = await failing(lambda: transport.post(CALL, shortly()))
        assert peer.connections == 1
    async with playing([SSE, CHUNK, HANG]) as (transport, _):
        answer = await transport.post(CALL, later())
        await answer.read()
        answer.wait_until(shortly())
        within = await failing(answer.read)
        answer.close()
    assert (before.kind, within.kind) == ("timeout", "timeout")


async def test_a_refused_connection_is_a_broken_one() -> None:
    async with playing() as (transport, peer):
        pass
    del peer
    error = await failing(lambda: transport.post(CALL, later()))
    assert (error.kind, error.retryable) == ("transport", True)
    assert error.message == "No connection to the provider: nobody listens at its address."


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (socket.gaierror(-2, "Name or service not known"), ": its name is not known"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER]"), ": it does not speak TLS as it should"),
        (OSError(errno.EHOSTUNREACH, "127.0.0.1:9"), f": {UNREACHABLE}"),
        (OSError("no number"), ""),
    ],
)
async def test_why_there_is_no_connection_is_told_without_an_address(
    why: OSError, said: str
) -> None:
    assert unreached(why) == said


@pytest.mark.parametrize("host", ["api..example.com", ".example.com", f"{'a' * 64}.example.com"])
async def test_a_name_that_no_host_can_have_is_not_known(host: str) -> None:
    transport = PooledTransport(Endpoint(f"https://{host}/v1", {}, 2.0))

    error = await failing(lambda: transport.post(CALL, later()))

    assert (error.kind, error.retryable) == ("transport", True)
    assert error.message == "No connection to the provider: its name is not known."


async def test_a_body_that_was_packed_unasked_is_unpacked() -> None:
    packed = gzip.compress(b'{"id":"x"}')
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    async with playing([head + packed[:8], packed[8:]]) as (transport, _):
        assert await whole(transport) == b'{"id":"x"}'


async def test_a_body_larger_than_what_may_wait_comes_whole() -> None:
    size = 3 * 2**20
    head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size
    async with playing([head, b"x" * size], [WHOLE]) as (transport, peer):
        answer = await transport.post(CALL, later())
        await anyio.sleep(0.05)
        assert answer.size < size
        read = 0
        while chunk := await answer.read():
            read += len(chunk)
        answer.close()
        assert read == size
        assert await whole(transport) == b"{}"
        assert peer.connections == 1


async def test_a_pool_of_one_makes_the_second_call_wait() -> None:
    async with playing([SSE, CHUNK, b"0\r\n\r\n"], [WHOLE], pool=1) as (transport, peer):
        first = await transport.post(CALL, later())
        error = await failing(lambda: transport.post(CALL, shortly()))
        while await first.read():
            pass
        first.close()
        first.close()
        assert await whole(transport) == b"{}"
        assert error.kind == "timeout"
        assert peer.connections == 1


async def test_a_header_of_two_lines_is_not_sent() -> None:
    async with playing([WHOLE]) as (transport, peer):
        call = HttpCall("/x", b"{}", {"x": "a\r\nb: c"})
        error = await failing(lambda: transport.post(call, later()))
    assert error.kind == "rejected"
    assert not peer.requests


async def test_a_host_with_a_private_address_is_not_called() -> None:
    with pytest.raises(PrivateAddress):
        await Addresses("localhost", 80, allow_private=False).find()
    transport = PooledTransport(Endpoint("http://localhost:9", {}, connect_s=PATIENCE_S))
    error = await failing(lambda: transport.post(CALL, later()))
    assert error.kind == "transport"
    assert "allow_private" in error.message
