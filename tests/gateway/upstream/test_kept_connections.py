"""A kept connection gives each call its own answer, or another connection does."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from time import sleep

import pytest

from gateway.upstream import connection
from gateway.upstream.answer import Answer
from gateway.upstream.connection import Connection
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
from tests.patience import later

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

_OTHERS = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nothers"


def deaf(seconds: float) -> None:
    """Let bytes come in that the loop has no chance to see."""
    sleep(seconds)


@pytest.mark.parametrize(
    "late", [_OTHERS, b"\r\n", b"garbage", _OTHERS[:20], b"HTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_bytes_that_the_loop_has_not_seen_yet_end_a_kept_connection(late: bytes) -> None:
    async with playing([WHOLE], [WHOLE]) as (transport, peer):
        assert await whole(transport) == b"{}"
        peer.writers[0].write(late)
        deaf(0.005)

        assert await whole(transport) == b"{}"
        assert peer.connections == 2


async def test_an_end_that_the_loop_has_not_seen_yet_ends_a_kept_connection() -> None:
    async with playing([WHOLE], [WHOLE]) as (transport, peer):
        await whole(transport)
        peer.writers[0].transport.abort()
        await asyncio.sleep(0)
        deaf(0.005)

        assert await whole(transport) == b"{}"
        assert peer.connections == 2


async def test_a_second_answer_is_not_handed_to_the_call_that_waited_for_the_connection() -> None:
    async with playing([SSE, CHUNK], [WHOLE], pool=1) as (transport, peer):
        first = await transport.post(CALL, later())
        await first.read()
        second = asyncio.ensure_future(whole(transport))
        await asyncio.sleep(0.005)
        peer.writers[0].write(b"0\r\n\r\n")
        assert await first.read() == b""
        first.close()
        asyncio.get_running_loop().call_soon(peer.writers[0].write, _OTHERS)

        assert await second == b"{}"
        assert peer.connections == 2


async def test_an_answer_to_what_was_not_sent_yet_is_none() -> None:
    async with playing([WHOLE], [WHOLE]) as (transport, peer):
        await whole(transport)
        large = HttpCall("/x", b"x" * 2**24, {})  # more than a socket takes at once
        post = asyncio.ensure_future(transport.post(large, later()))
        await asyncio.sleep(0)
        peer.writers[0].write(_OTHERS)
        answer = await post

        assert await answer.read() == b"{}"
        answer.close()
        assert peer.connections == 2


async def test_a_refusal_of_what_was_not_read_yet_is_an_answer_on_a_fresh_connection() -> None:
    async with playing() as (transport, peer):
        large = HttpCall("/x", b"x" * 2**24, {})
        post = asyncio.ensure_future(transport.post(large, later()))
        await peer.came.wait()
        peer.writers[0].write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        answer = await post

        assert answer.status == 413
        answer.close()
        assert peer.connections == 1


@pytest.mark.parametrize(
    "after",
    [
        b"garbage",
        _OTHERS,
        _OTHERS[:30],
        b"\r\n\r\n",
        b"\0" * 300_000,
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx",
    ],
)
@pytest.mark.parametrize(
    "answer",
    [WHOLE, SSE + b"2\r\n{}\r\n0\r\n\r\n", WHOLE.replace(b"con", b"connection: close\r\ncon")],
)
async def test_a_complete_answer_stands_whatever_follows_it(answer: bytes, after: bytes) -> None:
    async with playing([answer + after], [WHOLE]) as (transport, _):
        assert await whole(transport) == b"{}"
        assert await whole(transport) == b"{}"


@pytest.mark.parametrize("served", [1, 3])
async def test_a_kept_connection_that_ends_unanswered_is_replaced_at_once(served: int) -> None:
    script: list[list[bytes | str]] = [[WHOLE]] * served
    async with playing(*script, [CLOSE], [WHOLE]) as (transport, peer):
        for _ in range(served):
            await whole(transport)
        assert await whole(transport) == b"{}"
        assert len(peer.requests) == served + 2
        assert peer.connections == 2


async def test_a_call_is_made_anew_once_and_no_more() -> None:
    async with playing([WHOLE], [CLOSE], [CLOSE], [WHOLE]) as (transport, peer):
        await whole(transport)
        error = await failing(lambda: whole(transport))
        assert (error.kind, error.retryable) == ("transport", True)
        assert len(peer.requests) == 3


async def test_a_replaced_connection_takes_no_second_place_in_the_pool() -> None:
    async with playing([WHOLE], [CLOSE], [WHOLE], [WHOLE], pool=1) as (transport, _):
        for _ in range(3):
            assert await whole(transport) == b"{}"


@pytest.mark.parametrize("begun", [b"H", b"HTTP/1.1 200 OK\r\n", SSE])
async def test_a_kept_connection_that_ends_in_an_answer_is_a_failure(begun: bytes) -> None:
    async with playing([WHOLE], [begun, CLOSE], [WHOLE]) as (transport, peer):
        await whole(transport)
        error = await failing(lambda: whole(transport))
        assert (error.kind, error.retryable) == ("transport", True)
        assert len(peer.requests) == 2


async def test_a_fresh_connection_that_ends_unanswered_is_a_failure() -> None:
    async with playing([CLOSE], [WHOLE]) as (transport, peer):
        error = await failing(lambda: whole(transport))
        assert error.kind == "transport"
        assert len(peer.requests) == 1


async def test_a_provider_that_thought_for_long_and_then_left_may_have_billed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_RACE_S", 0.0)
    async with playing([WHOLE], [CLOSE], [WHOLE]) as (transport, peer):
        await whole(transport)
        error = await failing(lambda: whole(transport))
        assert (error.kind, error.retryable) == ("transport", True)
        assert len(peer.requests) == 2


async def test_a_call_left_while_it_is_made_anew_leaves_its_place() -> None:
    async with playing([WHOLE], [CLOSE], [HANG], [WHOLE], pool=1) as (transport, peer):
        await whole(transport)
        left = asyncio.ensure_future(whole(transport))
        for _ in range(200):
            await asyncio.sleep(0.001)
            if len(peer.requests) == 3:
                break
        left.cancel()
        with suppress(asyncio.CancelledError):
            await left
        assert len(peer.requests) == 3
        assert await whole(transport) == b"{}"


async def test_a_connection_with_nothing_to_read_is_quiet() -> None:
    async with playing([WHOLE]) as (transport, peer):
        answer = await transport.post(CALL, later())
        kept: Answer[Connection] = answer
        while await answer.read():
            pass
        answer.close()
        assert kept.connection.quiet
        peer.writers[0].write(b"x")
        deaf(0.005)
        assert not kept.connection.quiet


async def test_a_transport_that_is_retired_keeps_nothing_and_lets_calls_end() -> None:
    async with playing([WHOLE], [SSE, CHUNK, b"0\r\n\r\n"], [WHOLE]) as (transport, peer):
        assert await whole(transport) == b"{}"
        under_way = await transport.post(CALL, later())

        transport.retire()

        assert await under_way.read() == b"data: x"
        assert await under_way.read() == b""
        under_way.close()
        assert await whole(transport) == b"{}"
        assert peer.connections == 2
        assert not transport._idle
