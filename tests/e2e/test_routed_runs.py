"""A gateway is killed in the midst of what a router chose, and would now choose otherwise."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from techniques.core.json import Json
from tests.e2e.turns import Turn, whole
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.script import Answer
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import NEVER_S, eventually

VOTE = "self_consistency"
LEASE_S = 0.5
TOLD = whole("oa-model", Turn(parts=("The answer is 391.",)))
BODY = {"model": "auto/oa-model", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}


def _changes(folder: Path, default: str) -> dict[str, Json]:
    return {
        "reliability": {"default": default},
        "database": {"url": f"sqlite:///{folder}/runs.db"},
        "journal": {"lease_s": LEASE_S},
        "upstream": {"retries": 0},
    }


def _ask(gateway: Gateway, headers: Mapping[str, str]) -> Reply:
    token = {"authorization": f"Bearer {KEYS['k1']}", **headers}
    return Exchange(
        gateway.port, request("/v1/chat/completions", json.dumps(BODY).encode(), token)
    ).whole()


def _cut_off(gateway: Gateway, headers: Mapping[str, str]) -> None:
    with suppress(Exception):  # it is killed
        _ask(gateway, headers)


def _written(gateway: Gateway) -> int:
    """Return how many calls of the only run are written down as answered."""
    runs = gateway.get("/v1/runs", KEYS["k1"]).json["data"]
    told = [gateway.get(f"/v1/runs/{quote(run['id'])}", KEYS["k1"]).json for run in runs]
    return sum(step["state"] == "completed" for run in told for step in run["steps"])


def _killed(folder: Path, upstream: ScriptedUpstream, headers: Mapping[str, str]) -> None:
    """Have a gateway begin a run that votes, and kill it when two of its calls are answered."""

    def in_turn(_asked: Asked) -> Answer:
        return TOLD if len(upstream.asked) <= 2 else TOLD.later(NEVER_S)

    upstream.chooses(in_turn)
    with Gateway(folder, settings(upstream.port, 9, _changes(folder, VOTE))) as gateway:
        asking = Thread(target=_cut_off, args=(gateway, headers))
        asking.start()
        assert eventually(lambda: len(upstream.asked) >= 3)
        assert eventually(lambda: _written(gateway) == 2)
        gateway.process.kill()
        gateway.process.wait()
        asking.join()
    time.sleep(2 * LEASE_S)


@pytest.mark.parametrize("headers", [{"idempotency-key": "one"}, {}], ids=["by name", "by body"])
def test_a_killed_run_goes_on_with_the_technique_it_was_begun_with(
    tmp_path: Path, headers: Mapping[str, str]
) -> None:
    with ScriptedUpstream() as upstream:
        _killed(tmp_path, upstream, headers)
        before = len(upstream.asked)
        upstream.chooses(lambda _asked: TOLD)
        with Gateway(tmp_path, settings(upstream.port, 9, _changes(tmp_path, "none"))) as gateway:
            answer = _ask(gateway, headers)
            paid = len(upstream.asked) - before
            run = quote(answer.headers["x-lockgate-run"])
            found = gateway.get(f"/v1/runs/{run}", KEYS["k1"]).json
            other = _ask(gateway, {"idempotency-key": "two"})

    assert answer.status == other.status == 200
    assert answer.headers["x-lockgate-technique"] == VOTE
    assert "default technique" in answer.headers["x-lockgate-route"]
    assert other.headers["x-lockgate-technique"] == "none", "what is new is chosen anew"
    assert (found["state"], found["replayed"]) == ("completed", 2)
    assert 2 + paid == len(found["steps"]), "what was answered is not paid again"
