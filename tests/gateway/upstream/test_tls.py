"""The driver over TLS. The authority in ``certificates`` has signed for 127.0.0.1 until 2126."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import pytest

from gateway.upstream import pool
from tests.fakes.proxy import proxying
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
from tests.patience import PATIENCE_S, later

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])
CERTIFICATES: Final = Path(__file__).parent / "certificates"


@pytest.fixture
def tls() -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "provider.pem")
    return context


@pytest.fixture(autouse=True)
def forgetting() -> Iterator[None]:
    """What is trusted is read once in a process; not so in tests."""
    pool._trust.cache_clear()
    yield
    pool._trust.cache_clear()


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way that an operator trusts an authority of the house."""
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATES / "authority.pem"))


@pytest.mark.usefixtures("trusting")
async def test_a_provider_of_a_trusted_authority_is_called(tls: ssl.SSLContext) -> None:
    async with playing([WHOLE], [WHOLE], tls=tls) as (transport, peer):
        assert await whole(transport) == b"{}"
        assert await whole(transport) == b"{}"
    assert peer.connections == 1


@pytest.mark.usefixtures("trusting")
async def test_behind_a_proxy_the_provider_is_spoken_to_under_tls_all_the_same(
    tls: ssl.SSLContext,
) -> None:
    async with proxying() as proxy:
        address = f"http://{proxy.address}"
        async with playing([WHOLE], [WHOLE], tls=tls, proxy=address) as (transport, peer):
            assert [await whole(transport), await whole(transport)] == [b"{}", b"{}"]
    assert (len(proxy.asked), peer.connections) == (1, 1)


async def test_an_unknown_authority_gets_no_byte_of_ours(tls: ssl.SSLContext) -> None:
    async with playing([WHOLE], tls=tls) as (transport, peer):
        failed = await failing(lambda: whole(transport))
    assert "certificate is not trusted" in failed.message
    assert failed.kind == "transport"
    assert not peer.requests


@pytest.mark.usefixtures("trusting")
async def test_a_certificate_of_another_name_gets_no_byte_of_ours(tls: ssl.SSLContext) -> None:
    async with playing([WHOLE], host="localhost", tls=tls) as (transport, peer):
        failed = await failing(lambda: whole(transport))
    assert "localhost" in failed.message
    assert not peer.requests


@pytest.mark.usefixtures("trusting")
async def test_a_stream_cut_under_tls_fails_after_what_came(tls: ssl.SSLContext) -> None:
    async with playing([SSE, CHUNK, CLOSE], tls=tls) as (transport, _):
        answer = await transport.post(CALL, later())
        assert await answer.read() == b"data: x"
        failed = await failing(answer.read)
        answer.close()
    assert failed.kind == "transport"


@pytest.mark.usefixtures("trusting")
async def test_leaving_under_tls_closes_the_connection(tls: ssl.SSLContext) -> None:
    async with playing([SSE, CHUNK, HANG], tls=tls) as (transport, peer):
        answer = await transport.post(CALL, later())
        await answer.read()
        answer.close()
        with anyio.fail_after(PATIENCE_S):
            await peer.gone.wait()


@pytest.mark.usefixtures("trusting")
async def test_a_kept_connection_that_ended_under_tls_is_not_used(tls: ssl.SSLContext) -> None:
    async with playing([WHOLE, CLOSE], [WHOLE], tls=tls) as (transport, peer):
        assert await whole(transport) == b"{}"
        await peer.gone.wait()
        assert await whole(transport) == b"{}"
    assert peer.connections == 2
