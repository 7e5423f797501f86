"""No provider can make the gateway hold more than an answer can need."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from time import thread_time

import anyio
import anyio.lowlevel
import pytest

from gateway.upstream import connection, http
from gateway.upstream.answer import Answer
from gateway.upstream.connection import Connection
from gateway.upstream.faults import broken, endless
from gateway.upstream.packed import Packed
from gateway.upstream.provider import HttpCall
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event
from techniques.core.json import JsonObject
from techniques.core.relayed import EMBEDDING, EMBEDDINGS
from techniques.core.request import Relay, Request
from tests.fakes.script import JSON_TYPE, begin, raw, sse, text
from tests.fakes.upstream import ScriptedUpstream
from tests.gateway.upstream.bytes_scene import CALL, HANG, SSE, WHOLE, failing, playing, whole
from tests.gateway.upstream.http_scene import breaking, channel, read
from tests.gateway.upstream.http_scene import failing as failing_to_begin
from tests.gateway.upstream.http_scene import words as words_of
from tests.patience import later

pytestmark = pytest.mark.parametrize("anyio_backend", ["asyncio"])

_BOUND = 100_000
_BEYOND = 2**21
"""More than the bound and all that may be read at once."""
_ENDLESS = endless().message
_GZIP = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def server() -> Generator[ScriptedUpstream, None, None]:
    with ScriptedUpstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(server: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch) -> ScriptedUpstream:
    server.forget()
    monkeypatch.setattr(http, "_MOST_UNSAID", _BOUND)
    return server


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


async def test_a_whole_answer_without_end_is_no_answer(upstream: ScriptedUpstream) -> None:
    upstream.plays(raw(b"{" + b" " * _BEYOND, headers=JSON_TYPE))
    async with channel(upstream) as opened:
        failure = await failing_to_begin(opened)

    assert (failure.message, failure.retryable) == (_ENDLESS, True)


async def test_an_event_without_end_is_no_answer(upstream: ScriptedUpstream) -> None:
    upstream.plays(sse(b"data: " + b"x" * _BEYOND, end="hold"))
    async with channel(upstream) as opened:
        failure = await failing_to_begin(opened)

    assert (failure.message, failure.kind) == (_ENDLESS, "invalid_answer")


async def test_an_event_without_end_breaks_the_stream_it_stands_in(
    upstream: ScriptedUpstream,
) -> None:
    upstream.plays(sse(begin(), text("so far"), b"data: " + b"x" * _BEYOND, end="hold"))
    async with channel(upstream) as opened:
        came, failure = await breaking(opened)

    assert (came, failure.message, failure.kind) == ("so far", _ENDLESS, "invalid_answer")


async def test_comments_without_end_are_no_answer(upstream: ScriptedUpstream) -> None:
    upstream.plays(sse(b": still here\n\n" * (_BEYOND // 10), end="hold"))
    async with channel(upstream) as opened:
        failure = await failing_to_begin(opened)

    assert (failure.message, failure.kind) == (_ENDLESS, "invalid_answer")


async def test_a_stream_may_be_as_long_as_it_likes(upstream: ScriptedUpstream) -> None:
    part = text("x" * 4000)
    upstream.plays(sse(begin(), *[part] * 1000, text("last"), end="hold"))
    seen: list[Event] = []
    async with channel(upstream, idle_s=2.0) as opened:
        with pytest.raises(UpstreamFailed) as caught:
            await read(opened, seen)

    assert len(words_of(seen)) == 4_000_004
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200 OK\r\n" + b"x-more: yes\r\n" * 30_000,
        b"HTTP/1.1 200 OK\r\nx-more: " + b"y" * 300_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 15_000,
    ],
)
async def test_a_head_without_end_is_no_answer(sent: bytes) -> None:
    async with playing([sent, HANG]) as (transport, _):
        error = await failing(lambda: transport.post(CALL, later()))

    assert error.kind == "invalid_answer"


@pytest.mark.parametrize("sent", [b"0\r\n" + b"x-more: yes\r\n" * 60_000, b"5;" + b"y" * 600_000])
async def test_what_is_no_body_has_an_end(sent: bytes) -> None:
    async with playing([SSE + chunk(b"data"), sent, HANG], [WHOLE]) as (transport, peer):
        answer = await transport.post(CALL, later())
        assert await answer.read() == b"data"
        error = await failing(answer.read)
        answer.close()
        await peer.gone.wait()

    assert (error.kind, error.retryable) == ("invalid_answer", True)


async def test_bytes_between_chunks_are_not_counted_over_the_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "_MOST_BARE", len(SSE) + 10)
    came = Answer(Connection(), 0.0, lambda _: None)
    line = came.connection
    line._answer = came
    line.data_received(SSE)
    for _ in range(50):
        line.data_received(b"1\r\n")
        line.data_received(b"x\r\n")
    line.data_received(b"0\r\n\r\n")

    assert await came.read() == b"x" * 50
    assert await came.read() == b""


async def test_a_bomb_is_unpacked_a_step_at_a_time() -> None:
    bomb = gzip.compress(b" " * 2**26)
    async with playing([_GZIP + chunk(bomb) + b"0\r\n\r\n"]) as (transport, _):
        answer = await transport.post(CALL, later())
        sizes = []
        while part := await answer.read():
            sizes.append(len(part))
        answer.close()

    assert max(sizes) <= 2**18
    assert sum(sizes) == 2**26


async def test_others_have_their_turn_between_the_steps_of_a_bomb() -> None:
    bomb = gzip.compress(b" " * 2**24)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with (
        playing([_GZIP + chunk(bomb) + b"0\r\n\r\n"]) as (transport, _),
        anyio.create_task_group() as group,
    ):
        answer = await transport.post(CALL, later())
        await answer.read()
        group.start_soon(others)
        steps = 0
        while await answer.read():
            steps += 1
        answer.close()
        group.cancel_scope.cancel()

    assert steps > 50
    assert turns >= steps - 1


@pytest.mark.parametrize(
    ("inputs", "packed", "most"),
    [(1, True, 150), (3, True, 250), (50, True, 900), (1, False, 900)],
)
async def test_packed_vectors_are_no_more_than_their_inputs_need(
    monkeypatch: pytest.MonkeyPatch, inputs: int, most: int, *, packed: bool
) -> None:
    for name, size in {"_MOST_UNSAID": 100, "_MOST_VECTOR": 50, "_MOST_VECTORS": 900}.items():
        monkeypatch.setattr(http, name, size)
    body: JsonObject = {"input": ["x"] * inputs}
    relay = Relay(EMBEDDINGS, None, body, lambda: Request("e"))
    headers = {"content-encoding": "gzip"} if packed else {}

    assert http._most(Request("e", role=EMBEDDING, relay=relay), headers) == most


@pytest.mark.parametrize("cut", [1, 7, 10_000])
@pytest.mark.parametrize("filled", [b"", b"\0" * 9])
async def test_several_members_are_one_body(cut: int, filled: bytes) -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two") + filled
    chunks: list[bytes | str] = [chunk(packed[i : i + cut]) for i in range(0, len(packed), cut)]
    async with playing([_GZIP, *chunks, b"0\r\n\r\n"]) as (transport, _):
        assert await whole(transport) == b"one two"


@pytest.mark.parametrize(
    "packed",
    [
        b"no gzip",
        gzip.compress(b"x" * 99)[:-1],
        gzip.compress(b"x") + gzip.compress(b"y")[:-4],
        gzip.compress(b"x") + b"garbage that follows",
    ],
)
async def test_a_packed_body_that_is_not_whole_is_broken(packed: bytes) -> None:
    async with playing([_GZIP + chunk(packed) + b"0\r\n\r\n"]) as (transport, _):
        error = await failing(lambda: whole(transport))

    assert (error.kind, error.message) == ("transport", broken(None).message)


async def test_an_empty_body_is_whole_however_it_is_said_to_be_packed() -> None:
    async with playing([_GZIP + b"0\r\n\r\n"]) as (transport, _):
        assert await whole(transport) == b""


async def test_many_members_cost_no_more_than_their_bytes() -> None:
    packed, began = Packed(), thread_time()
    assert packed.unpack(gzip.compress(b"") * 20_000 + gzip.compress(b"end")) == b"end"
    assert packed.whole
    assert thread_time() - began < 2.0


@pytest.mark.parametrize("size", [2**18 - 1, 2**18, 2**18 + 1, 2**19])
async def test_nothing_is_lost_at_the_edge_of_a_step(size: int) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    packed, came = Packed(), b""
    part = packed.unpack(zlib.compress(body))
    while part:
        came += part
        part = packed.take()

    assert came == body
    assert packed.whole


async def test_only_small_heads_are_kept() -> None:
    async with playing([WHOLE], [WHOLE], [WHOLE]) as (transport, peer):
        for size in (30_000, 30_000, 10):
            call = HttpCall("/x", b"{}", {"anthropic-beta": "b" * size})
            answer = await transport.post(call, later())
            assert await answer.read() == b"{}"
            await answer.read()
            answer.close()
        held = sum(map(len, transport._heads.values()))

    assert 0 < held < 5000
    assert [len(request) > 30_000 for request in peer.requests] == [True, True, False]
