"""From the first byte to the last, and what happens when either side leaves."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.conformance.stage import (
    CHAT,
    IMPATIENT,
    MESSAGES,
    ONCE,
    RESPONSES,
    STALLING,
    Stage,
    Streamed,
    asked_at,
    chat,
)
from tests.fakes import script
from tests.fakes.client import CutOff, Exchange, dial, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.script import Answer, Until, Wait, begin, done, error, finish, sse, text, usage
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import NEVER_S, PATIENCE_S, SOON_S, eventually

AUTHORIZED = {"authorization": f"Bearer {KEYS['k1']}"}


def slow(pieces: int, gap: float = 0.05) -> Answer:
    """Answer with *pieces* words, *gap* seconds apart."""
    words = [write for _ in range(pieces) for write in (text("w "), Wait(gap))]
    return sse(begin(), *words, finish(), usage(9, pieces), done())


def read(exchange: Exchange, pieces: int) -> None:
    """Read events until *pieces* of them carry text."""
    for event in exchange.events():
        pieces -= '"w "' in (event.data or "")
        if not pieces:
            return


def left_upstream(stage: Stage, at: float) -> float:
    """Return how long after *at* the gateway closed its connection upstream."""
    asked = stage.upstream.asked[-1]
    assert eventually(lambda: asked.left is not None), "The call upstream goes on."
    return (asked.left or 0) - at


@pytest.mark.case("LIF-01")
@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("path", [CHAT, MESSAGES, RESPONSES])
def test_a_client_that_leaves_ends_the_call_upstream(stage: Stage, path: str, how: str) -> None:
    stage.upstream.plays(slow(100))

    with stage.open(path, asked_at(path, stream=True)) as answer:
        read(answer, 2)
        left = answer.leave() if how == "close" else answer.reset()

    assert left_upstream(stage, left) < SOON_S
    assert stage.row(answer)["outcome"] == "client_disconnect"


@pytest.mark.case("LIF-02")
@pytest.mark.parametrize("form", ["stream", "whole"])
@pytest.mark.parametrize("upstream", ["silent", "head", "role"])
def test_a_client_that_leaves_before_the_first_token_ends_the_call_upstream(
    stage: Stage, form: str, upstream: str
) -> None:
    waiting = {
        "silent": script.told("River").later(NEVER_S),
        "head": sse(Wait(NEVER_S), begin(), text("River"), finish(), done()),
        "role": sse(begin(), Wait(NEVER_S), text("River"), finish(), done()),
    }
    stage.uncounted()
    stage.upstream.plays(waiting[upstream])
    body = script.dumps(chat(stream=form == "stream"))

    connection = dial(stage.gateway.port, request(CHAT, body, AUTHORIZED))
    assert eventually(lambda: bool(stage.upstream.asked))
    time.sleep(0.15)
    connection.close()

    assert left_upstream(stage, time.monotonic()) < SOON_S


@pytest.mark.case("LIF-04")
@pytest.mark.gateway(IMPATIENT)
@pytest.mark.parametrize("upstream", ["silent", "head"])
@pytest.mark.parametrize("form", ["stream", "whole"])
def test_the_first_byte_is_waited_for_so_long_and_no_longer(
    stage: Stage, upstream: str, form: str
) -> None:
    late = sse(Wait(NEVER_S), begin(), text("River"), finish(), done())
    stage.upstream.plays(late if upstream == "head" else script.told("River").later(NEVER_S))

    answer = stage.post(CHAT, chat(stream=form == "stream"))

    assert answer.status == 504
    assert 0.5 <= answer.took < SOON_S
    assert left_upstream(stage, time.monotonic()) < SOON_S


@pytest.mark.case("LIF-05")
@pytest.mark.gateway(STALLING)
def test_a_long_stream_in_good_health_is_not_cut(stage: Stage) -> None:
    stage.upstream.plays(slow(60))

    answer = stage.chat_stream()

    assert answer.joined() == "w " * 60
    assert answer.finishes == ["stop"]


@pytest.mark.case("LIF-06")
@pytest.mark.gateway(STALLING)
@pytest.mark.parametrize("filler", ["silence", "comments", "empty"])
def test_a_stream_that_stalls_ends_in_an_error(stage: Stage, filler: str) -> None:
    idle = {"silence": b"", "comments": b": wait\n\n", "empty": script.chunk({})}[filler]
    fill = [write for _ in range(600) for write in (idle, Wait(0.1))]
    stage.upstream.plays(sse(begin(), text("Riv"), *fill))

    answer = stage.chat_stream()

    assert answer.joined() == "Riv"
    assert answer.errors
    assert answer.finishes == []
    took = answer.events[-1].at - answer.started
    assert 2.0 <= took < SOON_S
    assert left_upstream(stage, time.monotonic()) < SOON_S


@pytest.mark.case("LIF-06")
@pytest.mark.gateway(IMPATIENT)
def test_comments_do_not_stand_for_a_first_token(stage: Stage) -> None:
    fill = [write for _ in range(600) for write in (b": wait\n\n", Wait(0.1))]
    stage.upstream.plays(sse(*fill))

    answer = stage.post(CHAT, chat(stream=True))

    assert answer.status == 504
    assert 0.5 <= answer.took < SOON_S


@pytest.mark.case("LIF-06")
@pytest.mark.gateway(STALLING)
def test_a_role_begins_an_answer_but_comments_do_not_keep_it_alive(stage: Stage) -> None:
    fill = [write for _ in range(600) for write in (b": wait\n\n", Wait(0.1))]
    stage.upstream.plays(sse(begin(), *fill))

    answer = stage.chat_stream()

    assert answer.joined() == ""
    assert answer.errors
    assert answer.finishes == []
    assert answer.events[-1].at - answer.started < SOON_S


@pytest.mark.case("LIF-07")
@pytest.mark.gateway(ONCE)
@pytest.mark.parametrize("status", [429, 500])
def test_refused_streams_give_their_connections_back(stage: Stage, status: int) -> None:
    before = stage.upstream.open
    stage.upstream.plays(*[error(status, "no " * 60_000)] * 30)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda _: stage.post(CHAT, chat(stream=True)), range(30)))
    stage.upstream.plays(script.completion())
    last = stage.chat()

    assert {answer.status for answer in answers} <= {429, 500, 502, 503}
    assert last.status == 200
    assert last.took < SOON_S
    assert eventually(lambda: stage.upstream.open <= before + 5)


@pytest.mark.case("LIF-09")
@pytest.mark.parametrize("how", ["close", "reset"])
def test_hundreds_of_aborts_leave_nothing_behind(stage: Stage, how: str) -> None:
    stage.uncounted()
    before = stage.gateway.sockets()
    stage.upstream.chooses(
        lambda asked: slow(100) if asked.body.get("stream") else script.completion()
    )

    def abort(_: int) -> None:
        content = script.dumps(chat(stream=True))
        with Exchange(stage.gateway.port, request(CHAT, content, AUTHORIZED)) as answer:
            read(answer, 1)
            answer.leave() if how == "close" else answer.reset()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(abort, range(150)))
    last = stage.chat()

    assert last.status == 200
    assert last.took < SOON_S
    assert eventually(lambda: stage.gateway.sockets() <= before + 5)


@pytest.mark.case("LIF-11")
def test_a_stopping_gateway_ends_its_streams_in_order(
    upstream_process: ScriptedUpstream, tmp_path: Path
) -> None:
    upstream_process.forget()
    told: list[int] = []
    words = [text("w ")] * 15
    rest = Until(lambda: bool(told))  # a late client has had its answer
    upstream_process.plays(sse(begin(), *words, rest, *words, finish(), usage(9, 30), done()))
    config = settings(upstream_process.port, 1, {"server": {"drain_s": PATIENCE_S}})

    with Gateway(tmp_path, config) as gateway:
        stage = Stage(upstream_process, gateway)
        with stage.open(CHAT, chat(stream=True)) as running:
            gateway.process.terminate()
            assert eventually(lambda: not gateway.ready())
            try:
                late = request(CHAT, script.dumps(chat()), AUTHORIZED)
                with Exchange(gateway.port, late) as answer_to_late:
                    told.append(answer_to_late.status)
            except (OSError, CutOff):
                told.append(503)
            answer = Streamed(running.headers, list(running.events()), running.started)
        code = gateway.stop()

    assert answer.joined() == "w " * 30
    assert answer.finishes == ["stop"]
    assert answer.dones == 1
    assert told == [503]
    assert code == 0
    assert answer.request_id in gateway.log


@pytest.mark.case("LIF-12")
def test_what_is_kept_of_many_requests_is_bounded(stage: Stage) -> None:
    stage.uncounted()
    stage.upstream.chooses(lambda _asked: script.completion("ripple " * 300))
    content = request(CHAT, script.dumps(chat()), AUTHORIZED)

    def ask(times: int) -> None:
        for _ in range(times):
            assert Exchange(stage.gateway.port, content).whole().status == 200

    ask(200)
    before = stage.gateway.memory()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, [250] * 4))

    assert stage.gateway.memory() - before < 25_000_000


@pytest.mark.case("LIF-12")
@pytest.mark.gateway({}, fresh=True)
def test_rows_wait_while_the_database_takes_none_and_nobody_waits_for_them(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: script.completion("fine"))
    written = "lockgate_ledger_requests_total"
    with closing(sqlite3.connect(stage.gateway.folder / "lockgate.db")) as database:
        database.execute("BEGIN EXCLUSIVE")  # as a full disk or a lost server would
        answers = [stage.chat() for _ in range(30)]
        unwritten = stage.total(written, result="written")
        database.rollback()

    assert max(answer.took for answer in answers) < SOON_S
    assert unwritten == 0
    assert eventually(lambda: stage.total(written, result="written") == 30)
    assert stage.total(written, result="dropped") == 0
    assert [stage.row(answer)["request_id"] for answer in answers] == [
        answer.request_id for answer in answers
    ]
