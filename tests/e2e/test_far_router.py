"""A gateway whose router is a process of its own: asked, taught, hung, killed, and back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.router import TOKEN, RouterProcess
from tests.patience import eventually

WORDS = "What is the canary worth in roubles?"
IN_TIME_MS = 2_000


@pytest.fixture
def router(tmp_path: Path) -> Iterator[RouterProcess]:
    with RouterProcess(tmp_path / "router", {"LOCKGATE_ROUTER_TOKEN": TOKEN}) as running:
        yield running


def gateway_of(folder: Path, router: RouterProcess, timeout_ms: int = IN_TIME_MS) -> Gateway:
    stated: dict[str, Json] = {
        "providers": {"sim": {"dialect": "openai_chat", "simulated": {"speed": 0}}},
        "models": [
            {
                "name": "small",
                "provider": "sim",
                "model": "sim-small",
                "price": {"input": 1, "output": 2},
            }
        ],
        "router": {
            "type": "semknn",
            "url": router.url,
            "token": "${ROUTER_TOKEN}",
            "timeout_ms": timeout_ms,
            "learning": {"enabled": True},
        },
    }
    return Gateway(folder, settings(9, 9, stated), {"ROUTER_TOKEN": TOKEN})


def ask(gateway: Gateway) -> Reply:
    body = {"model": "auto/small", "messages": [{"role": "user", "content": WORDS}]}
    headers = {"authorization": f"Bearer {KEYS['k1']}"}
    sent = request("/v1/chat/completions", json.dumps(body).encode(), headers)
    reply = Exchange(gateway.port, sent).whole()
    assert reply.status == 200, reply.body
    return reply


def observed(router: RouterProcess) -> list[dict[str, Any]]:
    given = router.ask("GET", "/v1/observations", token=TOKEN)
    return [json.loads(line) for line in given.body.splitlines()]


def test_it_is_asked_and_taught_and_gets_no_word_of_a_prompt(
    tmp_path: Path, router: RouterProcess
) -> None:
    with gateway_of(tmp_path, router) as gateway:
        reply = ask(gateway)
        assert eventually(lambda: len(observed(router)) == 1)
    (row,) = observed(router)
    kept = b"".join(path.read_bytes() for path in router.folder.iterdir() if path.is_file())

    assert "semknn" in reply.headers["x-lockgate-route"]
    assert (row["request_id"], row["caller"]) == (reply.request_id, "k1")
    assert row["vector"]["values"]
    assert b"canary worth" not in kept
    assert b"roubles" not in kept
    assert TOKEN not in gateway.log


def test_one_that_hangs_or_is_gone_costs_a_moment_and_is_found_again(
    tmp_path: Path, router: RouterProcess
) -> None:
    with gateway_of(tmp_path, router, timeout_ms=20) as gateway:
        ask(gateway)
        router.pause()
        hung = [ask(gateway) for _ in range(12)]
        router.kill()
        gone = ask(gateway)
        with RouterProcess(
            router.folder, {"LOCKGATE_ROUTER_TOKEN": TOKEN}, port=router.port
        ) as again:
            assert eventually(lambda: "semknn" in ask(gateway).headers["x-lockgate-route"])
            assert eventually(lambda: len(observed(again)) >= 14)

    spent = [float(reply.headers["x-lockgate-overhead-ms"]) for reply in hung]
    assert all("x-lockgate-warnings" in reply.headers for reply in (*hung, gone))
    assert median(spent) < 60
