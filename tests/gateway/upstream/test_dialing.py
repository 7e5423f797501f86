"""The way to a provider by a proxy, and what is said where it is shut."""

from __future__ import annotations

import base64
import socket

import pytest

from gateway.upstream.addresses import PrivateAddress
from gateway.upstream.pool import Endpoint, PooledTransport
from tests.fakes.proxy import proxying
from tests.gateway.upstream.bytes_scene import CALL, CHUNK, SSE, WHOLE, failing, playing, whole
from tests.patience import PATIENCE_S, later

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])


async def test_a_call_goes_through_the_proxy_as_it_would_without() -> None:
    async with proxying() as proxy:
        address = f"http://{proxy.address}"
        async with playing([WHOLE], [SSE, CHUNK, b"0\r\n\r\n"], proxy=address) as (transport, peer):
            assert [await whole(transport), await whole(transport)] == [b"{}", b"data: x"]

    assert proxy.asked == [
        b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nhost: 127.0.0.1:%d" % (peer.port, peer.port)
    ]
    assert peer.requests[0].startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert b"proxy" not in peer.requests[0].lower()


async def test_the_proxy_gets_its_password_and_the_provider_does_not() -> None:
    async with proxying() as proxy:
        address = f"http://me:p%40ss%3A@{proxy.address}"
        async with playing([WHOLE], proxy=address) as (transport, peer):
            await whole(transport)

    pair = base64.b64encode(b"me:p@ss:")
    assert b"proxy-authorization: Basic " + pair in proxy.asked[0].split(b"\r\n")
    assert b"authorization: Bearer k" not in proxy.asked[0]
    assert pair not in peer.requests[0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "(407)"),
        (b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "(403)"),
        (b"HTTP/1.1 503", "did not answer as one"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", "did not answer as one"),
        (b"HTTP/1.1 20x OK\r\n\r\n", "did not answer as one"),
        (b"HTTP/1.1 403 No\r\n" + b"x: y\r\n" * 10_000, "did not answer as one"),
    ],
)
async def test_where_the_way_is_shut_the_failure_says_what_the_proxy_said(
    answer: bytes, said: str
) -> None:
    async with proxying(answer) as proxy:
        address = f"http://{proxy.address}"
        async with playing([WHOLE], proxy=address) as (transport, peer):
            error = await failing(lambda: transport.post(CALL, later()))

    assert (error.kind, error.retryable) == ("transport", True)
    assert said in error.message
    assert peer.connections == 0


async def test_a_proxy_that_says_nothing_is_not_waited_for_longer_than_a_connection_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        transport = PooledTransport(Endpoint("https://models.example/v1", {}, 0.05, proxy=address))

        error = await failing(lambda: transport.post(CALL, later()))

    assert (error.kind, error.message) == ("timeout", "No connection to the provider in time.")


async def test_no_proxy_there_is_told_from_no_provider_there() -> None:
    address = "http://127.0.0.1:9"
    transport = PooledTransport(
        Endpoint("https://models.example/v1", {}, PATIENCE_S, proxy=address)
    )

    error = await failing(lambda: transport.post(CALL, later()))

    assert error.message == "No connection to the proxy: nobody listens at its address."


async def test_a_private_address_is_refused_behind_a_proxy_too() -> None:
    async with proxying() as proxy:
        address = f"http://{proxy.address}"
        transport = PooledTransport(Endpoint("http://10.1.2.3/v1", {}, PATIENCE_S, proxy=address))

        error = await failing(lambda: transport.post(CALL, later()))

    assert isinstance(error.__cause__, PrivateAddress)
    assert proxy.asked == []
