from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from bench.rig import Call, Server, build, start_upstream, upstream_stats
from bench.scenarios import Scenario, chat, load, messages, responses

pytestmark = [
    pytest.mark.skipif(not shutil.which("cc"), reason="the benchmark's programs are in C"),
]


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Make the programs, for tests without an upstream too: another process may begin with one."""
    build()


@pytest.fixture(scope="module")
def upstream(built: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    del built
    server = start_upstream(tmp_path_factory.mktemp("bench"))
    yield server
    server.stop()


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """Serve every connection the same bytes, then close it; yields the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                if connection.recv(65536):
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def sse(body: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    return head + b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body


ONE_STREAM = Scenario("stream", chat(streamed=True), connections=1, requests=1, deltas=1)


def test_every_answer_of_the_upstream_is_counted(upstream: Server) -> None:
    before = upstream_stats(upstream)["requests"]

    said = load(Scenario("plain", chat(), connections=4, requests=200), upstream.port)

    assert (said["ok"], said["errors"], said["non_200"]) == (200, 0, 0)
    assert upstream_stats(upstream)["requests"] - before == 200


@pytest.mark.parametrize("make", [chat, messages, responses])
def test_streams_end_as_their_dialect_does_with_all_their_deltas(
    upstream: Server, make: Callable[..., Call]
) -> None:
    call = make("bench-n7-g1", streamed=True)

    said = load(Scenario("streams", call, connections=3, requests=9, deltas=7), upstream.port)

    assert (said["ok"], said["deltas"]) == (9, 63)
    assert 0 < said["delta_delay_us"]["p50"] < 50_000


def test_every_tenth_stream_is_cut_and_the_upstream_notices(upstream: Server) -> None:
    before = upstream_stats(upstream)["aborted"]
    call = chat("bench-n20-g2", streamed=True)
    scenario = Scenario("cut", call, 5, 20, deltas=20, abort_every=10, abort_after=3)

    said = load(scenario, upstream.port)

    assert (said["ok"], said["cut"], said["errors"]) == (18, 2, 0)
    stats = upstream_stats(upstream)
    assert (stats["aborted"] - before, stats["busy"]) == (2, 0)


def test_an_upstreams_delay_is_part_of_the_latency(upstream: Server) -> None:
    said = load(Scenario("slow", chat("bench-d30"), 4, 8), upstream.port)

    assert said["latency_us"]["p50"] >= 30_000


def test_an_open_loop_counts_the_time_a_request_waited_for_a_connection(upstream: Server) -> None:
    one_at_a_time = Scenario("open", chat("bench-d20"), connections=1, requests=5, rate=1000)

    said = load(one_at_a_time, upstream.port)

    assert said["latency_us"]["max"] >= 5 * 20_000 - 5_000


def test_a_stream_without_its_ending_is_an_error() -> None:
    with answering(sse(b'data: {"content":"@1234567@"}\n\n')) as port:
        said = load(ONE_STREAM, port)

    assert (said["ok"], said["truncated"]) == (0, 1)


@pytest.mark.parametrize(
    ("told", "ok"),
    [
        (b'event: response.completed\ndata: {"response":{}}\n\n', 1),
        (b'event: response.completed\ndata: {"respon', 0),
        (b'event: response.failed\ndata: {"response":{}}\n\n', 0),
    ],
)
def test_a_response_ends_with_the_event_that_says_so(told: bytes, ok: int) -> None:
    with answering(sse(b'data: {"delta":"@1234567@"}\n\n' + told)) as port:
        said = load(ONE_STREAM, port)

    assert (said["ok"], said["truncated"]) == (ok, 1 - ok)


def test_a_text_that_is_told_again_as_a_whole_is_no_delta() -> None:
    told = b'data: "@1234567@"\n\ndata: "@1234568@"\n\ndata: "@1234567@ @1234568@"\n\n'
    with answering(sse(told + b"data: [DONE]\n\n")) as port:
        said = load(replace(ONE_STREAM, deltas=2), port)

    assert (said["ok"], said["deltas"]) == (1, 2)


def test_a_stream_that_lost_a_delta_is_an_error() -> None:
    with answering(sse(b"data: [DONE]\n\n")) as port:
        said = load(ONE_STREAM, port)

    assert (said["ok"], said["truncated"]) == (0, 1)


def test_a_stream_whole_and_ended_is_none() -> None:
    with answering(sse(b'data: {"content":"@1234567@"}\n\ndata: [DONE]\n\n')) as port:
        said = load(ONE_STREAM, port)

    assert (said["ok"], said["errors"]) == (1, 0)


def test_a_status_other_than_200_is_told_apart_from_a_lost_connection() -> None:
    with answering(b"HTTP/1.1 503 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno") as port:
        refused = load(Scenario("503", chat(), 1, 3), port)
    with answering(b"") as port:
        lost = load(Scenario("lost", chat(), 1, 3), port)

    assert (refused["non_200"], refused["errors"]) == (3, 0)
    assert (lost["non_200"], lost["reset"]) == (0, 3)


def test_bodies_have_the_sizes_that_the_bars_name() -> None:
    assert 250 <= len(chat().body) <= 350
    assert 31_000 <= len(chat(size=32_000).body) <= 33_000
