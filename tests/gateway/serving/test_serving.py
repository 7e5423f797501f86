"""The gateway as a process: how it starts, and how it stops."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import orjson
import pytest

from gateway.config import Config, Secrets
from gateway.pastes import pastes
from gateway.serving import tuned
from router_service.groundwork.server import SWITCH_S
from techniques.core.json import Json
from tests.fakes.client import CutOff, Exchange, Reply, dial, request
from tests.fakes.gateway import Gateway
from tests.fakes.script import begin, sse, text
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import PATIENCE_S, eventually

ASKED = [{"role": "user", "content": "What is 17 * 23?"}]


def settings(speed: float = 0, **server: Json) -> dict[str, Json]:
    """Return a configuration over a simulation that answers at *speed* times its own pace."""
    return {
        "server": {"port": 0, **server},
        "providers": {"p": {"dialect": "openai_chat", "simulated": {"speed": speed}}},
        "models": [{"name": "small", "provider": "p", "model": "sim-small"}],
    }


def asked(gateway: Gateway, **fields: Json) -> Exchange:
    body = orjson.dumps({"model": "small", "messages": ASKED, **fields})
    headers = {"content-type": "application/json"}
    return Exchange(gateway.port, request("/v1/chat/completions", body, headers))


def total(page: Reply) -> float:
    """Return how many requests succeeded by the metrics on *page*."""
    lines = page.body.decode().splitlines()
    counted = [line for line in lines if line.startswith("lockgate_requests_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in counted if 'outcome="success"' in line)


def test_a_connection_that_is_idle_for_as_long_as_it_may_is_closed(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(idle_s=1)) as gateway:
        connection = dial(gateway.port, request("/healthz", None, {}, "GET"))
        told = b""
        while piece := connection.recv(65_536):  # to its end, which is the server's doing
            told += piece
        connection.close()

    assert told.startswith(b"HTTP/1.1 200")
    assert b"connection: close" not in told.lower()


def test_it_answers_at_its_address_and_told_to_stop_it_lets_an_open_answer_end(
    tmp_path: Path,
) -> None:
    with Gateway(tmp_path, settings(speed=1, drain_s=10)) as gateway:
        answer = asked(gateway).whole()
        with asked(gateway, stream=True) as exchange:
            events = exchange.events()
            first = next(events)
            gateway.process.send_signal(signal.SIGTERM)
            rest = list(events)
        code = gateway.stop()

    assert f"listening on http://127.0.0.1:{gateway.port}\n" in gateway.log
    assert f"curl http://127.0.0.1:{gateway.port}/v1/chat/completions" in gateway.log
    assert "391" in answer.json["choices"][0]["message"]["content"]
    assert first.data
    assert rest[-1].data == "[DONE]"
    assert code == 0
    assert "Traceback" not in gateway.log
    lines = [line for line in gateway.log.splitlines() if "request.finished" in line]
    assert [orjson.loads(line)["outcome"] for line in lines] == ["success", "success"]
    assert "17 * 23" not in "".join(lines)


def test_told_to_stop_it_waits_no_longer_than_it_may(tmp_path: Path) -> None:
    with ScriptedUpstream() as upstream:
        upstream.plays(sse(begin(), text("so far"), end="hold"))
        config = settings(drain_s=0)
        url = f"http://127.0.0.1:{upstream.port}"
        config["providers"]["p"] = {
            "dialect": "openai_chat",
            "base_url": url,
            "allow_private": True,
        }
        with Gateway(tmp_path, config) as gateway, asked(gateway, stream=True) as exchange:
            gateway.process.send_signal(signal.SIGTERM)
            code = gateway.process.wait(PATIENCE_S)
            with suppress(CutOff):
                assert all(event.data != "[DONE]" for event in exchange.events())

    assert code == 0


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        apart = {**settings(port=port), "database": {"url": "none"}}
        (tmp_path / "c.yaml").write_bytes(orjson.dumps(apart))
        command = [sys.executable, "-m", "gateway.cli", "serve", "-c", str(tmp_path / "c.yaml")]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert f"Address already in use: 127.0.0.1:{port}" in line
    assert "LOCKGATE_SERVER__PORT" in line
    assert "Traceback" not in done.stderr


def test_the_metrics_of_two_workers_add_up(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(workers=2)) as gateway:
        for _ in range(12):
            assert asked(gateway).whole().status == 200

        assert eventually(lambda: total(gateway.get("/metrics")) == 12)
        assert len(gateway.workers()) == 2
        code = gateway.stop()

    assert code == 0
    assert "Traceback" not in gateway.log


@pytest.mark.parametrize(
    ("models", "keyed", "model"),
    [
        ([{"name": "any-*", "provider": "p"}, {"name": "m", "provider": "p"}], False, "m"),
        ([{"name": "any-*", "provider": "p"}], True, "any-MODEL"),
    ],
)
def test_what_can_be_pasted_fits_the_configuration(
    models: Json,
    keyed: bool,  # noqa: FBT001
    model: str,
) -> None:
    config = Config.model_validate({**settings(), "models": models})

    pasted = pastes("http://127.0.0.1:1", config, keyed=keyed)

    assert pasted.count(f'"{model}"') == 3
    assert ("Bearer YOUR_KEY" in pasted) is keyed


@pytest.mark.parametrize(("kind", "set_to"), [("fixed", []), ("semknn", [SWITCH_S])])
async def test_what_learns_beside_the_requests_gives_way_to_them(
    kind: str, set_to: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[float] = []
    monkeypatch.setattr(sys, "setswitchinterval", told.append)
    apart = {"database": {"url": "none"}, "router": {"type": kind}}
    config = Config.model_validate({**settings(), **apart})

    async with tuned(config, Secrets(None, None)):
        pass

    assert told == set_to
