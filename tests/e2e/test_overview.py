"""What one replica tells of the runs of another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from techniques.core.json import Json
from tests.fakes.client import dial, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, settings
from tests.fakes.script import completion
from tests.fakes.upstream import ScriptedUpstream, dead_port
from tests.patience import eventually

BODY = {"model": "oa-model", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}


def _until(found: Callable[[], Json]) -> Json:
    told: list[Json] = []

    def comes() -> bool:
        told.append(found())
        return bool(told[-1])

    assert eventually(comes), "It did not come to that."
    return told[-1]


def test_a_run_is_told_of_by_the_replica_that_carries_it_out_and_by_others(tmp_path: Path) -> None:
    held, dead = dead_port()
    with held, ScriptedUpstream() as upstream:
        upstream.chooses(lambda _: completion("391").later(600))
        shared = {"database": {"url": f"sqlite:///{tmp_path}/shared.db"}}
        folders = [tmp_path / "one", tmp_path / "other"]
        for folder in folders:
            folder.mkdir()
        config = settings(upstream.port, dead, shared)
        with Gateway(folders[0], config) as one, Gateway(folders[1], config) as other:
            sent = {"authorization": f"Bearer {KEYS['k1']}"}
            sent |= {"x-lockgate-technique": "self_consistency"}
            client = dial(one.port, request("/v1/chat/completions", orjson.dumps(BODY), sent))

            def calls(at: Gateway) -> Json:
                told = at.get("/admin/overview", ADMIN_TOKEN).json
                assert told["runs_shared"]
                return [it for it in told["calls"] if "dispatched" in it["steps"]["states"]]

            (here,), (there,) = _until(lambda: calls(one)), _until(lambda: calls(other))
            client.close()
            names = [
                told.get("/admin/overview", ADMIN_TOKEN).json["process"] for told in (one, other)
            ]

    assert (here["here"], there["here"]) == (True, False)
    alike = ("id", "technique", "model", "key", "state")
    assert [here[name] for name in alike] == [there[name] for name in alike]
    assert (here["technique"], here["key"]) == ("self_consistency", "k1")
    assert names[0]["name"] != names[1]["name"]
