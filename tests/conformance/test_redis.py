"""The shared store: hung, down or empty, it costs what the configuration says and no more."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from techniques.core.json import Json
from tests.conformance.conftest import Gateways
from tests.conformance.replicas import ask, at_once, secret, started, with_budget
from tests.conformance.stage import summed
from tests.fakes.client import Reply
from tests.fakes.gateway import Gateway, hashed
from tests.fakes.script import completion, counts
from tests.patience import PATIENCE_S, eventually
from tests.services.valkey import Valkey

FREE: Json = {"name": "free", "hash": hashed(secret("free"))}


@pytest.fixture
def server() -> Iterator[Valkey]:
    """Run a server that a test may harm."""
    with Valkey() as server:
        yield server


def over(gateways: Gateways, server: Valkey, folder: Path, **more: Json) -> Gateway:
    """Return a gateway on *server*, not started, with a key that has a budget and one without."""
    gateways.upstream.forget()
    gateways.upstream.chooses(lambda _asked: completion("ok", used=counts(0, 100)))
    return gateways.another(
        {
            "store": {"redis": server.url},
            "database": {"url": f"sqlite:///{folder}/lockgate.db"},
            "keys": [FREE, with_budget("paid", "1")],
            **more,
        }
    )


def lost(gateway: Gateway) -> list[str]:
    """Return what ``/readyz`` says is lost."""
    answer = gateway.get("/readyz")
    assert answer.status == 200
    return list(answer.json.get("lost", []))


def losses(gateway: Gateway) -> float:
    """Return how often the store was lost, as the metrics tell."""
    return summed(_page(gateway), "lockgate_store_losses_total")


def _page(gateway: Gateway) -> list[str]:
    return gateway.get("/metrics").body.decode().splitlines()


def is_told(answer: Reply) -> bool:
    """Tell whether *answer* is the refusal of who may not go on without the store."""
    return answer.status == 503 and answer.json["error"]["code"] == "store_lost"


@pytest.mark.case("REDIS-01")
def test_a_store_that_hangs_delays_nobody_for_long_and_heals(
    gateways: Gateways, server: Valkey, tmp_path: Path
) -> None:
    with over(gateways, server, tmp_path) as gateway:
        assert ask(gateway, "paid", max_tokens=100).status == 200
        server.pause()
        first = ask(gateway, "paid", max_tokens=100)
        paid = [ask(gateway, "paid", max_tokens=100) for _ in range(10)]
        free = [ask(gateway, "free") for _ in range(10)]

        assert all(map(is_told, [first, *paid]))
        assert {answer.status for answer in free} == {200}
        assert max(answer.took for answer in [first, *paid, *free]) < 2
        assert sorted(answer.took for answer in [*paid, *free])[10] < 0.2  # nobody waits for it
        assert lost(gateway) == ["store"]
        assert losses(gateway) == 1
        assert summed(_page(gateway), "lockgate_store_lost") == 1

        server.resume()
        assert eventually(lambda: ask(gateway, "paid", max_tokens=100).status == 200)
        assert lost(gateway) == []
        assert summed(_page(gateway), "lockgate_store_lost") == 0


@pytest.mark.case("REDIS-02")
@pytest.mark.case("REDIS-03")
def test_a_gateway_starts_without_its_store_and_finds_it_when_it_comes(
    gateways: Gateways, server: Valkey, tmp_path: Path
) -> None:
    server.stop()
    with over(gateways, server, tmp_path) as gateway:
        free, paid = ask(gateway, "free", temperature=0), ask(gateway, "paid", max_tokens=100)
        assert free.status == 200
        assert is_told(paid)
        assert lost(gateway) == ["store"]

        server.start()
        assert eventually(lambda: ask(gateway, "paid", max_tokens=100).status == 200)
        assert lost(gateway) == []


@pytest.mark.case("REDIS-01")
def test_budgets_go_on_with_a_share_of_what_is_left_where_the_operator_says_so(
    gateways: Gateways, server: Valkey, tmp_path: Path
) -> None:
    changes = {"store": {"redis": server.url, "on_loss": {"budgets": "local"}}}
    few = [FREE, with_budget("paid", "0.01")]
    with over(gateways, server, tmp_path, **{**changes, "keys": few}) as gateway:
        server.stop()
        answers = [ask(gateway, "paid", max_tokens=100) for _ in range(8)]

        assert [answer.status for answer in answers] == [200] * 5 + [402] * 3


@pytest.mark.case("REDIS-01")
def test_a_store_that_comes_back_empty_knows_again_what_was_spent(
    gateways: Gateways, server: Valkey, tmp_path: Path
) -> None:
    keys = [FREE, with_budget("paid", "0.01")]
    with over(gateways, server, tmp_path, keys=keys) as gateway:
        before = [ask(gateway, "paid", max_tokens=100).status for _ in range(4)]
        with server.client() as client:
            client.flushall()
        between = ask(gateway, "paid", max_tokens=100).status
        server.restart()
        statuses: list[int] = []

        def refused() -> bool:
            statuses.append(ask(gateway, "paid", max_tokens=100).status)
            return statuses[-1] == 402

        assert eventually(refused)
        assert before == [200] * 4
        assert between == 200
        assert statuses.count(200) == 1


@pytest.mark.case("REDIS-01")
def test_a_store_lost_under_traffic_costs_no_burst_upstream(
    gateways: Gateways, server: Valkey, tmp_path: Path
) -> None:
    limits = {"providers": {"oa": {"limits": {"rpm": 40, "minute_s": 4}}}}
    patience = {"pacing": {"mode": "on", "patience": {"json_s": 1}}}
    two = [over(gateways, server, tmp_path, **limits, **patience) for _ in range(2)]
    with started(two) as running:
        stop = threading.Event()

        def traffic(number: int) -> Reply:
            while True:
                answer = ask(running[number % 2], "free")
                if stop.is_set():
                    return answer

        asking = threading.Thread(target=lambda: at_once(8, traffic))
        asking.start()
        for harm in (server.pause, server.resume, server.restart):
            time.sleep(2.5)
            harm()
        time.sleep(2.5)
        stop.set()
        asking.join(PATIENCE_S)

    times = sorted(asked.at for asked in gateways.upstream.asked)
    most = max(sum(at <= other < at + 4 for other in times) for at in times)
    # a full window at once, what comes back in one period, and a tenth with which each starts anew
    assert most <= 2 * 40 + 2 * 4
