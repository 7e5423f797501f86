"""A gateway that is told to stop: what nobody waits for is not paid twice; who listens is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, SseEvent, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.script import completion, dumps
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.patience import PATIENCE_S, eventually

CHAT = "/v1/chat/completions"
AUTH = {"authorization": f"Bearer {KEYS['k1']}"}
DRAWS = {"technique": "self_consistency", "params": {"num_samples": 3, "stop": "exact"}}
ASKED = {"model": "oa-model", "messages": [{"role": "user", "content": "What is 6 * 7?"}]}
LIMITED = {"oa": {"limits": {"rpm": 2, "minute_s": 600}}}


@pytest.fixture
def upstream() -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream() as playing:
        playing.chooses(lambda _: completion(f"The answer is {len(playing.asked)}.").later(1.0))
        yield playing


@pytest.fixture
def gateway(upstream: ScriptedUpstream, tmp_path: Path) -> Iterator[Gateway]:
    held, dead = dead_port()
    kept: dict[str, Json] = {
        "database": {"url": f"sqlite:///{tmp_path}/kept.db"},
        "journal": {"lease_s": 1},
        "server": {"keepalive_s": 0.2},
        "upstream": {"retries": 0},
        "pacing": {"mode": "on"},
    }
    with held, Gateway(tmp_path, settings(upstream.port, dead, kept)) as running:
        yield running


def post(gateway: Gateway, run: str, **more: str) -> Reply:
    said = {**AUTH, "x-lockgate-run": run, **{n.replace("_", "-"): v for n, v in more.items()}}
    body = dumps({**ASKED, "reliability": DRAWS})
    return Exchange(gateway.port, request(CHAT, body, said)).whole()


def seen(gateway: Gateway, run: str) -> Json:
    return gateway.get(f"/v1/runs/{run}", KEYS["k1"]).json


def test_calls_of_a_run_in_the_background_end_before_the_process_and_are_paid_once(
    upstream: ScriptedUpstream, gateway: Gateway
) -> None:
    assert post(gateway, "later", prefer="respond-async").status == 202
    assert eventually(lambda: len(upstream.asked) == 2)
    assert gateway.stop() == 0
    assert len(upstream.asked) == 2, "no further call is made"
    assert all(asked.left is None for asked in upstream.asked)

    with gateway:
        assert eventually(lambda: seen(gateway, "later")["state"] == "completed")
        run = seen(gateway, "later")
    assert len(upstream.asked) == 3
    assert [step["attempts"] for step in run["steps"]] == [1, 1, 1]
    assert (run["ambiguous"], run["waste_usd"]) == (0, "0")


def test_a_run_in_the_background_that_somebody_hears_ends_before_the_process(
    upstream: ScriptedUpstream, gateway: Gateway
) -> None:
    said = {**AUTH, "x-lockgate-run": "heard"}
    body = dumps({**ASKED, "reliability": DRAWS, "stream": True})
    background = {**AUTH, "x-lockgate-run": "heard", "prefer": "respond-async"}
    with Exchange(gateway.port, request(CHAT, body, background)) as begun:
        assert begun.status == 202
    with Exchange(gateway.port, request(CHAT, body, said)) as hearing:  # it hears: it is kept alive
        threading.Thread(target=gateway.stop).start()
        events = list(hearing.events())
    assert events[-1].data == "[DONE]"
    assert len(upstream.asked) == 3


def test_who_watches_a_run_that_waits_is_told_that_the_process_ends(gateway: Gateway) -> None:
    gateway.stop()
    gateway.config["providers"]["oa"].update(LIMITED["oa"])
    events: list[SseEvent] = []
    with gateway:
        assert post(gateway, "waits", x_lockgate_on_limit="suspend").status == 429
        watched = request("/v1/runs/waits/events", None, AUTH, "GET")
        with Exchange(gateway.port, watched) as watching:
            thread = threading.Thread(target=lambda: events.extend(watching.events()))
            thread.start()
            assert eventually(lambda: bool(events))
            gateway.stop()
            thread.join(PATIENCE_S)
    assert [event.name for event in events] == ["run", "error"]
    assert events[0].json["state"] == "suspended"
    assert events[1].json["error"]["code"] == "unavailable"
    assert "Traceback" not in gateway.log
