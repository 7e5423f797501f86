"""Bodies that come packed are unpacked, to no more than a body may have."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import orjson
import pytest

from gateway.surfaces.unpacking import coding_of, unpacked
from gateway.wire.codings import CODINGS, ZSTD
from techniques.core.errors import RequestRejected, TooLarge, UnknownCoding
from tests.gateway.surfaces.scene import Stage, chat, whole

BODY = orjson.dumps(chat())
MOST = 100_000
ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def bare(body: bytes) -> bytes:
    """Return *body* deflated, without zlib's form around it."""
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(body) + packing.flush()


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("X-GZip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "bare": ("deflate", bare),
    "nothing": ("identity", bytes),
    "empty": ("", bytes),
    "beside nothing": ("identity, gzip", gzip.compress),
}


@ASYNCIO
@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
async def test_a_packed_call_is_answered_and_sent_on_unpacked(name: str, dialect: str) -> None:
    said, pack = PACKED[name]
    stage = Stage(whole(), dialect=dialect)
    body = pack(orjson.dumps(chat(max_tokens=9)))

    client = await stage.serve(body, {"content-encoding": said})

    assert client.status == 200
    call = stage.upstream.calls[0]
    assert orjson.loads(call.body)["messages"][0]["content"] == "hello there"
    assert "content-encoding" not in call.headers


@pytest.fixture
def zstd() -> Any:
    """Return the library, where it is."""
    if "zstd" not in CODINGS:
        pytest.skip("backports.zstd is not installed")
    return import_module(ZSTD)


@ASYNCIO
@pytest.mark.parametrize("said", ["zstd", "ZSTD", "identity, zstd"])
async def test_a_call_packed_by_zstd_as_codex_sends_it_is_answered(zstd: Any, said: str) -> None:
    stage = Stage(whole())
    packed = zstd.compress(BODY[:20]) + zstd.compress(BODY[20:])

    client = await stage.serve(packed, {"content-encoding": said})

    assert client.status == 200
    assert b"hello there" in stage.upstream.calls[0].body


@pytest.mark.parametrize("size", [MOST, MOST + 1, 1000 * MOST])
def test_a_bomb_of_zstd_is_not_unpacked(zstd: Any, size: int) -> None:
    packed = zstd.compress(b" " * size)

    if size == MOST:
        assert len(unpacked(packed, "zstd", MOST)) == MOST
        return
    with pytest.raises(TooLarge):
        unpacked(packed, "zstd", MOST)


def test_what_is_no_whole_zstd_or_wants_too_much_memory_is_refused(zstd: Any) -> None:
    packed = zstd.compress(BODY)
    noise = random.Random(1).randbytes(2**24)
    wide = zstd.compress(noise * 2, options={zstd.CompressionParameter.window_log: 25})

    for wrong in (BODY, packed[:-1], packed + b"more", packed[:4], zstd.compress(b"") * 17, wide):
        with pytest.raises(RequestRejected, match="cannot be unpacked"):
            unpacked(wrong, "zstd", 2**30)


@ASYNCIO
@pytest.mark.parametrize("said", ["br", "compress", "gzip, gzip", "deflate,br", "x" * 999])
@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
async def test_another_coding_is_named_with_those_that_are_known(said: str, dialect: str) -> None:
    stage = Stage(dialect=dialect)

    client = await stage.serve(BODY, {"content-encoding": said})

    assert client.status == 415
    assert client.headers["accept-encoding"] == ", ".join(CODINGS)
    assert client.json["error"]["type"] == "invalid_request_error"
    known = " or ".join((", ".join(CODINGS[:-1]), CODINGS[-1]))
    assert known in client.json["error"]["message"]
    assert stage.finished.status == 415


@pytest.mark.parametrize("size", [MOST, MOST + 1, 1000 * MOST])
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, bare], ids=["gzip", "zlib", "bare"])
def test_a_bomb_is_not_unpacked(size: int, pack: Callable[[bytes], bytes]) -> None:
    coding = "gzip" if pack is gzip.compress else "deflate"
    packed = pack(b" " * size)

    if size == MOST:
        assert len(unpacked(packed, coding, MOST)) == MOST
        return
    with pytest.raises(TooLarge):
        unpacked(packed, coding, MOST)


@ASYNCIO
async def test_a_bomb_is_told_like_any_body_that_is_too_large() -> None:
    client = await Stage(max_body=1000).serve(
        gzip.compress(b" " * 1001), {"content-encoding": "gzip"}
    )

    assert (client.status, client.json["error"]["code"]) == (413, "request_too_large")


def test_members_are_joined_but_not_without_end() -> None:
    parts = [BODY[:9], BODY[9:20], BODY[20:]]
    assert unpacked(b"".join(map(gzip.compress, parts)) + b"\0" * 9, "gzip", MOST) == BODY

    with pytest.raises(RequestRejected):
        unpacked(gzip.compress(b"") * 17, "gzip", MOST)


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize(
    "packed", [BODY, gzip.compress(BODY)[:-1], gzip.compress(BODY) + b"more", b"\x1f\x8b"]
)
def test_what_is_not_packed_so_is_refused(packed: bytes, coding: str) -> None:
    with pytest.raises(RequestRejected, match="cannot be unpacked"):
        unpacked(packed, coding, MOST)


def test_only_one_coding_is_read() -> None:
    assert coding_of("gzip") == "gzip"
    assert coding_of(" Identity ") is None
    with pytest.raises(UnknownCoding, match="br"):
        coding_of("br")
