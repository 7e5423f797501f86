"""``/admin/router/fit``: one gateway finds out what to decide by, and its replica follows."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import anyio

from router_service.groundwork.database import opened
from router_service.store.observations import ObservationTable
from router_service.store.steps import STEPS
from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, settings
from tests.patience import eventually
from tests.router_service.fitting.scene import ARMS, traffic

PATH = "/admin/router/fit"
UNFIT: list[Json] = [{"promote": "force"}, {"promote": "now"}, {"by": "\0"}, {"x": 1}, []]


def gateway_of(folder: Path, database: Path, **router: Json) -> Gateway:
    folder.mkdir()
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
        "reliability": {"judge": "small"},
        "database": {"url": f"sqlite:///{database}"},
        "router": {"type": "acm_linear", "arms": ["none", *ARMS], "timeout_ms": 2000, **router},
    }
    return Gateway(folder, settings(9, 9, stated))


def admin(gateway: Gateway, method: str, body: Json = None, query: str = "") -> Reply:
    raw = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    return Exchange(gateway.port, request(PATH + query, raw, headers, method)).whole()


def chosen(gateway: Gateway) -> str:
    body = {"model": "auto/small", "messages": [{"role": "user", "content": "What is 17 * 23?"}]}
    headers = {"authorization": f"Bearer {KEYS['k1']}"}
    sent = request("/v1/chat/completions", json.dumps(body).encode(), headers)
    reply = Exchange(gateway.port, sent).whole()
    assert reply.status == 200, reply.body
    return str(reply.headers["x-lockgate-technique"])


async def write(database: Path) -> None:
    async with opened(f"sqlite+aiosqlite:///{database}", STEPS) as it:
        now = datetime.now(UTC).timestamp()  # what is older than router.learning.ttl_days is gone
        rows = [row.model_copy(update={"at": now}) for row in traffic(600)]
        await ObservationTable(it).observe(rows)


def test_what_one_gateway_finds_out_its_replica_decides_by_until_it_is_taken_back(
    tmp_path: Path,
) -> None:
    database = tmp_path / "all.db"
    anyio.run(write, database)
    with (
        gateway_of(tmp_path / "a", database) as one,
        gateway_of(tmp_path / "b", database) as other,
    ):
        before = chosen(one), chosen(other)
        report = admin(one, "POST", {"by": "ana"}).json
        after = chosen(one)
        followed = eventually(lambda: chosen(other).startswith("self_consistency"))
        served = admin(other, "GET").json["served"]
        gone = admin(one, "DELETE", query="?by=ben")
        back = chosen(one)
        nothing = admin(one, "DELETE")

    assert before == ("none", "none")
    assert (report["passed"], report["served"], report["rows"]) == (True, True, 600)
    assert after.startswith("self_consistency")
    assert followed
    assert (served["by"], served["revision"]) == ("ana", report["revision"])
    assert gone.json == {"withdrawn": report["revision"], "served": None}
    assert (back, nothing.status) == ("none", 404)


def test_who_may_fit_and_what_may_be_asked(tmp_path: Path) -> None:
    with gateway_of(tmp_path / "a", tmp_path / "all.db") as gateway:
        refused = [admin(gateway, "POST", body).status for body in UNFIT]
        empty = admin(gateway, "POST").json
        nobody = [gateway.get(PATH, token).status for token in (None, KEYS["k1"])]
        unnamed = admin(gateway, "DELETE", query="?by=%00")

    assert refused == [400] * 5
    assert (empty["served"], empty["why"]) == (False, "0 requests tell enough, and 30 are needed")
    assert nobody == [401, 401]
    assert unnamed.status == 400


def test_where_nothing_is_learnt_there_is_nothing_to_fit(tmp_path: Path) -> None:
    with gateway_of(tmp_path / "a", tmp_path / "all.db", type="fixed") as gateway:
        told = [admin(gateway, method).status for method in ("GET", "POST", "DELETE")]

    assert told == [404, 404, 404]
