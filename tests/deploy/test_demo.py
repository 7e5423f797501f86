"""What `docker compose up` starts, without containers: the same files, the same settings."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

import orjson
import pytest

from techniques import catalog
from techniques.core import registry
from tests.deploy.files import DEMO, ROOT, read, services
from tests.deploy.playing import PROGRAM, traffic
from tests.docs.documents import ADDRESS, commands
from tests.fakes.client import Exchange, request
from tests.fakes.gateway import Gateway
from tests.fakes.router import RouterProcess
from tests.fakes.simulator import Simulator
from tests.patience import PATIENCE_S, eventually
from tests.services.postgres import Postgres
from tests.services.valkey import Valkey

HASTE = 50
EXPECTED = {
    "plain": {"200"},
    "large": {"200"},
    "messages": {"200"},
    "technique": {"200"},
    "capped": {"200", "402", "408"},
    "session": {"200", "429"},
    "burst": {"200"},
    "patient": {"200"},
    "hasty": {"200", "429"},
    "leaver": {"left"},
    "trial": {"200", "402"},
    "mistaken": {"400", "401", "404"},
    "forecast": {"200"},
}
"""What may come of each kind of traffic."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    """Run the simulator of the demonstration, in whose world time passes fifty times as fast."""
    _, *said = services(DEMO)["simulator"]["command"]
    stated = dict(zip(said[::2], said[1::2], strict=True))
    limits = {name: str(HASTE * int(stated[name])) for name in ("--rpm", "--tpm")}
    options = {"--fail-every": stated["--fail-every"], "--speed": str(HASTE), **limits}
    with Simulator(*chain(*options.items())) as running:
        yield running


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> str:
    return postgres.database()


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory, database: str) -> Iterator[RouterProcess]:
    """Run the router of the demonstration, at an address of this machine."""
    stated = services(DEMO)["router"]["environment"]
    moved = {"LOCKGATE_SERVER__HOST": "127.0.0.1", "LOCKGATE_DATABASE__URL": database}
    folder, config = tmp_path_factory.mktemp("router"), ROOT / "deploy/demo/router.yaml"
    with RouterProcess(folder, {**stated, **moved}, config=config) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(
    tmp_path_factory: pytest.TempPathFactory,
    simulator: Simulator,
    valkey: Valkey,
    router: RouterProcess,
    database: str,
) -> Iterator[Gateway]:
    config = read("deploy/demo/lockgate.yaml")
    config["server"] |= {"host": "127.0.0.1", "port": 0}
    config["database"] = {"url": database}
    stated = services(DEMO)["gateway"]["environment"]
    moved = {
        "SIMULATOR_URL": simulator.url,
        "LOCKGATE_REDIS_URL": valkey.url,
        "ROUTER_URL": router.url,
    }
    with Gateway(tmp_path_factory.mktemp("demo"), config, {**stated, **moved}) as running:
        yield running


@pytest.fixture
def admin(gateway: Gateway) -> str:
    return str(services(DEMO)["gateway"]["environment"]["LOCKGATE_ADMIN_TOKEN"])


def url(gateway: Gateway) -> str:
    return f"http://127.0.0.1:{gateway.port}"


def test_two_workers_serve_it_and_nothing_is_amiss(gateway: Gateway) -> None:
    assert len(gateway.workers()) == 2
    assert gateway.get("/readyz").json == {"status": "ready"}
    assert [line for line in gateway.log.splitlines() if '"level":"error"' in line] == []


def test_what_the_document_shows_can_be_typed(gateway: Gateway) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (line,) = (line for line in commands("docs/deploy.md") if line.startswith("curl "))

    told = subprocess.run(
        ["bash", "-c", line.replace(ADDRESS, url(gateway))],
        capture_output=True,
        text=True,
        check=True,
    )

    assert orjson.loads(told.stdout)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("scene", traffic().SCENES, ids=lambda scene: scene.__name__)
def test_every_kind_of_traffic_gets_what_it_came_for(gateway: Gateway, scene: Any) -> None:
    load, never = traffic(), threading.Event()

    came = {load.send(url(gateway), ask, never) for seed in range(3) for ask in scene(Random(seed))}

    assert came <= EXPECTED[scene.__name__]


def test_every_technique_that_is_asked_for_there_is() -> None:
    assert set(traffic().TECHNIQUES) <= {"auto", *registry.load(catalog)}


def test_what_comes_of_the_routers_choices_is_learnt(
    gateway: Gateway, router: RouterProcess
) -> None:
    load = traffic()
    headers = {"authorization": f"Bearer {load.KEYS['app']}"}
    said = [{"role": "user", "content": "What is 17 * 23?"}]
    body = orjson.dumps({"model": "auto/sim-small", "messages": said})
    for _ in range(5):
        reply = Exchange(gateway.port, request(load.CHAT, body, headers)).whole()
        assert reply.status == 200

    token = services(DEMO)["router"]["environment"]["LOCKGATE_ROUTER_TOKEN"]

    def kept() -> bool:
        lines = router.ask("GET", "/v1/observations", token=token).body.splitlines()
        return len([line for line in lines if orjson.loads(line)["caller"] == "app"]) >= 5

    assert eventually(kept)


def test_a_key_is_held_to_its_budget_whichever_worker_it_meets(
    gateway: Gateway, admin: str
) -> None:
    load = traffic()
    asks = [ask for seed in range(40) for ask in load.trial(Random(seed))]

    came = [load.send(url(gateway), ask, threading.Event()) for ask in asks]

    told = gateway.get("/admin/budgets", admin).json["budgets"]
    (spent,) = [row for row in told if row.get("key") == "trial"]
    assert "402" in came
    assert 0 < float(spent["spent_usd"]) <= float(spent["usd"])


def test_the_program_keeps_to_its_rate_and_stops_when_it_is_told(gateway: Gateway) -> None:
    command = [sys.executable, str(PROGRAM), "--url", url(gateway), "--rate", "8", "--seconds", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    counted = orjson.loads(done.stdout.splitlines()[-1])

    with subprocess.Popen([*command[:-1], "0"], stdout=subprocess.PIPE, text=True) as endless:
        assert endless.stdout is not None
        first = endless.stdout.readline()
        endless.send_signal(signal.SIGTERM)
        *_, last = endless.stdout

    assert 8 <= counted["200"] <= 200
    assert not counted.keys() & {"lost", "500", "502", "503", "504"}
    assert endless.returncode == 0
    assert first == f"asking {url(gateway)}\n"
    assert isinstance(orjson.loads(last), dict)


def test_what_either_worker_served_is_in_the_one_ledger(gateway: Gateway, admin: str) -> None:
    load = traffic()
    headers = {"authorization": f"Bearer {load.KEYS['app']}"}
    body = orjson.dumps({"model": "sim-small", "messages": [{"role": "user", "content": "hi"}]})
    sent = request(load.CHAT, body, headers)

    replies = [Exchange(gateway.port, sent).whole() for _ in range(20)]

    assert [reply.status for reply in replies] == [200] * 20
    for reply in replies:
        rows = gateway.get(f"/admin/ledger?request={reply.request_id}", admin).json["rows"]
        assert {row["key"] for row in rows} == {"app"}
        assert "ok" in {row["outcome"] for row in rows}
