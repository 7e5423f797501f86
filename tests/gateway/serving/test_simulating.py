"""The simulated provider over HTTP: what a gateway, and a client, meet there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from gateway.cli import main
from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import Gateway
from tests.fakes.simulator import Simulator

RPM = 3
ASKED = {"messages": [{"role": "user", "content": "What is 17 * 23?"}]}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator("--rpm", str(RPM), "--speed", "0") as running:
        yield running


def asked(port: int, key: str, path: str = "/v1/chat/completions", **fields: Json) -> Reply:
    body = orjson.dumps({"model": "sim-large", **ASKED, **fields})
    return Exchange(port, request(path, body, {"authorization": f"Bearer {key}"})).whole()


def test_every_key_is_an_account_with_limits_of_its_own(simulator: Simulator) -> None:
    first = [asked(simulator.port, "first") for _ in range(RPM + 1)]
    second = asked(simulator.port, "second")

    assert [reply.status for reply in first] == [200] * RPM + [429]
    assert first[-1].json["error"]["code"] == "rate_limit_exceeded"
    assert int(first[-1].headers["retry-after"]) > 0
    assert second.status == 200


def test_a_stream_comes_piece_by_piece_at_its_pace_and_ends() -> None:
    with Simulator("--speed", "0.2") as simulator:
        body = orjson.dumps({"model": "sim-small", **ASKED, "stream": True})
        with Exchange(simulator.port, request("/v1/chat/completions", body, {})) as exchange:
            events = list(exchange.events())

    assert exchange.headers["content-type"].startswith("text/event-stream")
    assert events[-1].data == "[DONE]"
    assert events[-1].at - events[0].at > 0.02
    assert all(event.json["model"] == "sim-small" for event in events[:-1])


def test_a_client_that_leaves_takes_nothing_down(simulator: Simulator) -> None:
    body = orjson.dumps({"model": "sim-small", **ASKED, "stream": True})
    with Exchange(simulator.port, request("/v1/chat/completions", body, {})) as exchange:
        exchange.reset()

    assert asked(simulator.port, "after").status == 200


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", b"{", 400),
        ("/v1/chat/completions", b'{"model": "gpt-9", "messages": []}', 400),
        ("/v1/embeddings", b"{}", 404),
        ("/v1/chat/completions", b" " * (20 * 2**20 + 1), 413),
    ],
    ids=["no json", "no messages", "another path", "too large"],
)
def test_what_is_wrong_is_refused_in_the_words_of_the_api(
    simulator: Simulator, path: str, body: bytes, status: int
) -> None:
    reply = Exchange(simulator.port, request(path, body, {"authorization": "Bearer x"})).whole()

    assert reply.status == status
    assert reply.json["error"]["type"] == "invalid_request_error"


def test_it_says_which_models_there_are_and_that_it_lives(simulator: Simulator) -> None:
    models = Exchange(simulator.port, request("/v1/models", None, {}, "GET")).whole()
    alive = Exchange(simulator.port, request("/healthz", None, {}, "GET")).whole()

    assert [row["id"] for row in models.json["data"]] == ["sim-small", "sim-large", "sim-embed"]
    assert (alive.status, alive.json) == (200, {"status": "ok"})


def test_a_gateway_moves_calls_from_the_account_that_is_full_to_the_one_that_is_not(
    tmp_path: Path, simulator: Simulator
) -> None:
    account = {"dialect": "openai_chat", "base_url": simulator.url, "allow_private": True}
    config = {
        "server": {"port": 0},
        "providers": {
            "north": {**account, "api_key": "file:north", "limits": {"rpm": RPM}},
            "south": {**account, "api_key": "file:south", "limits": {"rpm": RPM}},
        },
        "models": [
            {"name": "m", "provider": "north", "accounts": ["south"], "model": "sim-large"},
        ],
        "pacing": {"patience": {"json_s": 0.2}},
    }
    for name in ("north", "south"):
        (tmp_path / name).write_text(name)
    body = orjson.dumps({"model": "m", **ASKED})
    with Gateway(tmp_path, config) as gateway:
        sent = request("/v1/chat/completions", body, {})
        replies = [Exchange(gateway.port, sent).whole() for _ in range(2 * RPM + 1)]
        page = gateway.get("/metrics").body.decode()

    served = [reply.headers["x-lockgate-provider"] for reply in replies[: 2 * RPM]]
    assert sorted(served) == ["north"] * RPM + ["south"] * RPM
    assert replies[-1].status == 429
    refused = [
        line for line in page.splitlines() if line.startswith("lockgate_upstream_429_total{")
    ]
    assert [line for line in refused if not line.endswith(" 0.0")] == []


@pytest.mark.parametrize("option", ["--rpm", "--tpm", "--speed", "--fail-every"])
def test_a_wrong_option_is_named(option: str) -> None:
    result = CliRunner().invoke(main, ["simulate", option, "-1"])

    assert result.exit_code == 2
    assert f"error: {option}: " in result.output


def test_a_port_that_is_taken_is_told(simulator: Simulator) -> None:
    result = CliRunner().invoke(main, ["simulate", "--port", str(simulator.port)])

    assert result.exit_code == 2
    assert "error: --port: Address already in use" in result.output


def test_told_to_stop_it_stops() -> None:
    with Simulator() as simulator:
        code = simulator.stop()

    assert code in (0, -15)
