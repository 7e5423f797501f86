"""How a gateway stops: drained, cut off, in one process and in several."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import Gateway
from tests.fakes.script import begin, sse, text
from tests.fakes.upstream import ScriptedUpstream
from tests.gateway.serving.test_serving import settings
from tests.patience import NEVER_S, PATIENCE_S, eventually

HELD = sse(begin(), text("so far"), end="hold")
CHAT, MESSAGES = "/v1/chat/completions", "/v1/messages"


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as upstream:
        yield upstream


def over(upstream: ScriptedUpstream, **server: Json) -> dict[str, Json]:
    """Return a configuration over *upstream*."""
    url = f"http://127.0.0.1:{upstream.port}"
    row = {"dialect": "openai_chat", "base_url": url, "allow_private": True}
    return {**settings(**server), "providers": {"p": row}}


def asking(path: str = CHAT, **fields: Json) -> bytes:
    asked = {"model": "small", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    headers = {"content-type": "application/json"}
    return request(path, orjson.dumps({**asked, **fields}), headers)


def whole(gateway: Gateway, path: str) -> Reply:
    return Exchange(gateway.port, asking(path)).whole()


def refuses(gateway: Gateway) -> bool:
    """Tell whether all workers know that they are to stop: one of them answers, nobody says who."""
    return not any(gateway.ready() for _ in range(20))


@pytest.mark.parametrize("workers", [1, 2])
def test_told_twice_it_stops_at_once_and_every_open_call_is_told_so(
    tmp_path: Path, upstream: ScriptedUpstream, workers: int
) -> None:
    upstream.plays(HELD, HELD, HELD)
    config = over(upstream, workers=workers, drain_s=NEVER_S)
    with (
        Gateway(tmp_path, config) as gateway,
        Exchange(gateway.port, asking(stream=True)) as streamed,
        ThreadPoolExecutor() as clients,
    ):
        events = streamed.events()
        next(events)
        asked = [clients.submit(whole, gateway, path) for path in (CHAT, MESSAGES)]
        assert eventually(lambda: len(upstream.asked) == 3)
        gateway.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: refuses(gateway))
        assert gateway.process.poll() is None
        gateway.process.send_signal(signal.SIGTERM)
        last = list(events)[-1]
        answers = [call.result(PATIENCE_S) for call in asked]
        assert gateway.process.wait(PATIENCE_S) == 0

    assert last.json["error"]["code"] == "unavailable"
    assert [answer.status for answer in answers] == [503, 503]
    assert answers[0].json["error"]["code"] == "unavailable"
    assert answers[1].json["type"] == "error"
    assert all(answer.request_id for answer in answers)
    assert "Traceback" not in gateway.log
    lines = [orjson.loads(x) for x in gateway.log.splitlines() if "request.finished" in x]
    assert [line["outcome"] for line in lines] == ["unavailable"] * 3


def test_several_workers_refuse_what_is_new_while_open_answers_end(
    tmp_path: Path, upstream: ScriptedUpstream
) -> None:
    upstream.plays(*[HELD] * 8)
    with Gateway(tmp_path, over(upstream, workers=2, drain_s=NEVER_S)) as gateway:
        held = [Exchange(gateway.port, asking(stream=True)) for _ in range(8)]
        gateway.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: refuses(gateway))
        refused = Exchange(gateway.port, asking()).whole()
        ready = gateway.get("/readyz")
        gateway.process.send_signal(signal.SIGTERM)
        code = gateway.process.wait(PATIENCE_S)
        for exchange in held:
            exchange.leave()

    assert refused.status == 503
    assert refused.json["error"]["code"] == "unavailable"
    assert ready.status == 503
    assert code == 0


@pytest.mark.parametrize("workers", [1, 2])
def test_who_comes_when_the_address_is_told_is_answered(tmp_path: Path, workers: int) -> None:
    apart = {**settings(workers=workers), "database": {"url": "none"}}
    (tmp_path / "c.yaml").write_bytes(orjson.dumps(apart))
    command = [sys.executable, "-m", "gateway.cli", "serve", "-c", str(tmp_path / "c.yaml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        answer = Exchange(int(line.rpartition(":")[2]), request("/readyz", None, {}, "GET")).whole()
        process.terminate()
        code = process.wait(PATIENCE_S)

    assert line.startswith("listening on http://127.0.0.1:")
    assert (answer.status, code) == (200, 0)


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(workers=2)) as gateway:
        old = gateway.workers()
        os.kill(old[0], signal.SIGKILL)
        assert eventually(lambda: len(set(gateway.workers()) - {old[0]}) == 2)
        code = gateway.stop()

    assert code == 0
    assert "worker.died" in gateway.log


def test_workers_do_not_outlive_a_parent_that_was_killed(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(workers=2)) as gateway:
        assert whole(gateway, CHAT).status == 200
        workers = gateway.workers()
        os.kill(gateway.process.pid, signal.SIGKILL)

        assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
