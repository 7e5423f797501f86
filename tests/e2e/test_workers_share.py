"""Several workers, one database: what one of them does, the others know."""

from __future__ import annotations

from pathlib import Path

import orjson

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, Gateway
from tests.patience import eventually

SIMULATED: dict[str, Json] = {
    "server": {"port": 0, "workers": 2},
    "providers": {"sim": {"dialect": "openai_chat", "simulated": {}}},
    "models": [
        {"name": "m", "provider": "sim", "model": "sim-small", "price": {"input": 1, "output": 1}}
    ],
}
BODY = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "What is 2 + 2?"}]})


def call(gateway: Gateway, key: str) -> Reply:
    """Make a call over a connection of its own, which either worker may take."""
    headers = {"content-type": "application/json", "x-api-key": key}
    return Exchange(gateway.port, request("/v1/chat/completions", BODY, headers)).whole()


def admin(gateway: Gateway, path: str, body: Json = None, method: str = "POST") -> Json:
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}", "content-type": "application/json"}
    raw = None if body is None else orjson.dumps(body)
    reply = Exchange(gateway.port, request(path, raw, headers, method)).whole()
    assert reply.status in (200, 201), reply.body
    return orjson.loads(reply.body)


def test_a_key_works_at_once_on_every_worker_and_is_soon_refused_by_all(
    tmp_path: Path,
) -> None:
    with Gateway(tmp_path, SIMULATED) as gateway:
        admin(gateway, "/admin/keys", {"name": "first"})
        key = admin(gateway, "/admin/keys", {"name": "app"})["key"]
        served = [call(gateway, key) for _ in range(20)]
        found = [
            admin(gateway, f"/admin/ledger?request={reply.request_id}", method="GET")
            for reply in served[-4:]
        ]
        admin(gateway, "/admin/keys/app", method="DELETE")
        assert eventually(lambda: all(call(gateway, key).status == 401 for _ in range(20)))
        (row, *_) = admin(gateway, "/admin/ledger?key=app&limit=50", method="GET")["rows"]

        assert key not in gateway.log

    assert [reply.status for reply in served] == [200] * 20
    assert [len(answer["rows"]) for answer in found] == [1] * 4
    assert (row["key"], row["model"]) == ("app", "m")
