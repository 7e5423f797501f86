"""The agent of the examples, killed with all that it stands on, comes to its end."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from bench.ports import free_port
from techniques.core.json import Json
from tests.docs.documents import ROOT
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.fakes.script import Answer, completion
from tests.fakes.upstream import Asked, ScriptedUpstream
from tests.patience import PATIENCE_S, eventually

AGENT = ROOT / "deploy/examples/agent.py"
NUMBERS = (12, 30, 7, 25, 3, 81, 9, 33)
ADDED = re.compile(r"(\d+) \+ (\d+)")
CALL_S = 0.2


def _sum(asked: Asked) -> Answer:
    first, second = ADDED.findall(asked.body["messages"][-1]["content"])[-1]
    return completion(f"That makes {int(first) + int(second)}.").later(CALL_S)


def _asked(upstream: ScriptedUpstream, times: int) -> bool:
    return len(upstream.asked) >= times


def _changes(port: int, folder: Path) -> dict[str, Json]:
    return {
        "server": {"port": port},
        "providers": {"oa": {"limits": {"rpm": 2, "minute_s": 1.0}}},
        "pacing": {"mode": "on"},
        "upstream": {"retries": 0},
        "database": {"url": f"sqlite:///{folder}/runs.db"},
        "journal": {"lease_s": 1.0},
    }


@contextmanager
def _agent(port: int) -> Iterator[subprocess.Popen[str]]:
    address = f"http://127.0.0.1:{port}/v1"
    words = [address, KEYS["k1"], "oa-model", "sum", *map(str, NUMBERS)]
    command = [sys.executable, str(AGENT), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("seed", [5])
def test_the_agent_of_the_examples_ends_and_pays_for_each_step_once(
    tmp_path: Path, seed: int
) -> None:
    dice = Random(seed)
    with ScriptedUpstream() as upstream:
        upstream.chooses(_sum)
        port = free_port()
        with Gateway(tmp_path, settings(upstream.port, 9, _changes(port, tmp_path))) as gateway:
            for killed in ("agent", "gateway", "agent"):
                enough = len(upstream.asked) + 2
                with _agent(port) as agent:
                    eventually(partial(_asked, upstream, enough))
                    time.sleep(dice.uniform(0, 2 * CALL_S))
                    if killed == "agent":
                        agent.kill()
                    else:
                        gateway.process.kill()
                        gateway.process.wait()
                        gateway.__enter__()
            with _agent(port) as agent:
                said, _ = agent.communicate(timeout=PATIENCE_S)
            runs = [gateway.get(f"/v1/runs/sum/{n}", KEYS["k1"]).json for n in range(len(NUMBERS))]

    assert said.strip() == str(sum(NUMBERS))
    assert {run["state"] for run in runs} == {"completed"}
    paid = Counter(len(asked.body["messages"]) for asked in upstream.asked)
    assert len(paid) == len(NUMBERS)
    again = sum(paid.values()) - len(NUMBERS)
    assert again == sum(run["ambiguous"] for run in runs) <= 1, "only what one kill left in doubt"
