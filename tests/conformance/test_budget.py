"""Budgets: never passed, whoever asks at the same time, and nothing of them is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from techniques.core.json import Json
from tests.conformance.conftest import Gateways
from tests.conformance.replicas import (
    ask,
    at_once,
    booked,
    charged,
    held,
    rows,
    secret,
    started,
    with_budget,
)
from tests.conformance.stage import CHAT, Stage, chat
from tests.fakes.client import dial, request
from tests.fakes.gateway import ADMIN_TOKEN, Gateway
from tests.fakes.script import Answer, Wait, completion, counts, dumps, error, sse
from tests.fakes.upstream import ScriptedUpstream
from tests.patience import NOON, eventually
from tests.services.valkey import Valkey

EACH = 1_500_000_000
"""What a call costs that writes a hundred tokens, in picodollars."""
CENT = 10_000_000_000
LOCAL: dict[str, Json] = {
    "upstream": {"retries": 0},
    "keys": [
        with_budget(name, "0.01") for name in ("crowd", "unpriced", "failing", "reserved", "kept")
    ],
}


def costing(output: int = 100) -> Answer:
    """Answer well, with so many tokens of *output* and none of input."""
    return completion("ok", used=counts(0, output))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret(key)}"}


def outcomes(answers: list[Json]) -> dict[int, int]:
    """Return how many of *answers* have each status."""
    statuses = [answer.status for answer in answers]
    return {status: statuses.count(status) for status in set(statuses)}


@pytest.mark.case("BUD-01")
@pytest.mark.gateway(LOCAL)
def test_as_many_are_served_at_once_as_the_budget_pays_for(stage: Stage) -> None:
    stage.upstream.chooses(lambda _asked: costing().later(0.3))

    answers = at_once(
        50, lambda _n: stage.post(CHAT, chat(max_tokens=100), headers=bearer("crowd"))
    )

    assert outcomes(answers) == {200: 6, 402: 44}
    assert len(stage.upstream.asked) == 6
    refused = next(answer for answer in answers if answer.status == 402)
    assert refused.json["error"]["code"] == "budget_exhausted"


@pytest.mark.case("COST-04")
@pytest.mark.gateway(LOCAL)
def test_a_key_with_a_budget_may_not_use_what_has_no_price(stage: Stage) -> None:
    answer = stage.post(CHAT, chat(model="oa-free"), headers=bearer("unpriced"))

    assert 400 <= answer.status < 500
    assert stage.upstream.asked == []


@pytest.mark.case("COST-05")
@pytest.mark.gateway(LOCAL)
def test_a_key_may_spend_by_the_operators_price(stage: Stage) -> None:
    stage.upstream.plays(costing(4500), *[completion("ok", used=counts(0, 4500))] * 1)
    dear = chat(model="oa-own", max_tokens=4500)

    first = stage.post(CHAT, dear, headers=bearer("kept"))
    second = stage.post(CHAT, dear, headers=bearer("kept"))

    assert Decimal(first.headers["x-lockgate-cost-usd"]) == Decimal("0.009")
    assert (first.status, second.status) == (200, 402)
    stage.upstream.plays()


@pytest.mark.case("USE-06")
@pytest.mark.gateway(LOCAL)
def test_what_was_held_for_a_failed_call_is_there_again(stage: Stage) -> None:
    most = chat(max_tokens=600)
    stage.upstream.plays(*[error(500)] * 3, costing(10))

    failed = [stage.post(CHAT, most, headers=bearer("reserved")) for _ in range(3)]
    answer = stage.post(CHAT, most, headers=bearer("reserved"))

    assert outcomes(failed) == {502: 3}
    assert answer.status == 200


@pytest.fixture
def replicas(
    gateways: Gateways, valkey: Valkey, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[list[Gateway]]:
    """Run as many gateways as the test says that share the keys ``one`` and ``other``."""
    gateways.upstream.forget()
    changes = {
        "upstream": {"retries": 0},
        "store": {"redis": valkey.url, "prefix": uuid4().hex},
        "database": {"url": f"sqlite:///{tmp_path}/lockgate.db"},
        "keys": [with_budget("one", "0.01"), with_budget("other", "0.02")],
    }
    with started([gateways.another(changes) for _ in range(request.param)]) as running:
        yield running


def _told(gateways: list[Gateway], answers: list[Json]) -> str:
    codes = {answer.json["error"]["code"] for answer in answers if answer.status != 200}
    return f"{codes} {[gateway.log[-1500:] for gateway in gateways]}"


@pytest.mark.case("BUD-02")
@pytest.mark.parametrize("replicas", [3], indirect=True)
def test_replicas_spend_one_budget(
    replicas: list[Gateway], valkey: Valkey, upstream_process: ScriptedUpstream
) -> None:
    upstream_process.chooses(lambda _asked: costing().later(0.1))
    busy, idle = replicas[:2], replicas[2]

    answers = at_once(24, lambda number: ask(busy[number % 2], "one", max_tokens=100))
    late = ask(idle, "one", max_tokens=100)

    prefix = str(idle.config["store"]["prefix"])
    assert outcomes(answers) == {200: 6, 402: 18}, _told(replicas, answers)
    assert late.status == 402
    assert eventually(lambda: booked(idle, "one") == 6 * EACH)
    with valkey.client() as client:
        assert charged(client, prefix, "key:one") == 6 * EACH


@pytest.mark.case("BUD-03")
@pytest.mark.parametrize("replicas", [1], indirect=True)
def test_every_way_to_end_settles_once(
    replicas: list[Gateway], valkey: Valkey, upstream_process: ScriptedUpstream
) -> None:
    (gateway,) = replicas
    prefix, played = str(gateway.config["store"]["prefix"]), upstream_process
    played.plays(*[error(500)] * 10, *[sse(Wait(5))] * 10, costing(10))

    for model in ("oa-judge", "oa-strict", "oa-plain", "oa-think", "oa-model"):
        failed = [ask(gateway, "other", model=model, max_tokens=100) for _ in range(2)]
        assert outcomes(failed) == {502: 2}
    asked = request(CHAT, dumps(chat(stream=True, max_tokens=100)), bearer("other"))
    for number in range(11, 21):
        line = dial(gateway.port, asked)
        assert eventually(partial(_has_come, played, number))
        line.close()
    last = ask(gateway, "other", max_tokens=100)

    assert last.status == 200
    with valkey.client() as client:
        assert eventually(lambda: len(rows(gateway, "other")) == 21)
        assert eventually(lambda: held(client, prefix, "key:other") == 0)
        assert charged(client, prefix, "key:other") == booked(gateway, "other") > 0


def _has_come(played: ScriptedUpstream, number: int) -> bool:
    return len(played.asked) == number


def spent_usd(gateway: Gateway) -> Decimal:
    """Return what the only budget of *gateway* has spent, as its operator is told."""
    (budget,) = gateway.get("/admin/budgets", ADMIN_TOKEN).json["budgets"]
    return Decimal(budget["spent_usd"])


@pytest.mark.case("BUD-06")
@pytest.mark.case("BUD-07")
def test_what_was_spent_stays_through_restarts_until_its_period_ends(
    gateways: Gateways, tmp_path: Path
) -> None:
    upstream = gateways.upstream
    upstream.forget()
    upstream.chooses(lambda _asked: costing())
    file = tmp_path / "lockgate.db"
    gateway = gateways.another(
        {"database": {"url": f"sqlite:///{file}"}, "keys": [with_budget("day", "0.002")]}
    )
    with gateway:
        first, second = (ask(gateway, "day", max_tokens=100) for _ in range(2))
        assert eventually(lambda: booked(gateway, "day") == EACH)
        assert spent_usd(gateway) == Decimal("0.0015")
    with gateway:
        third = ask(gateway, "day", max_tokens=100)
        assert spent_usd(gateway) == Decimal("0.0015")
    with closing(sqlite3.connect(file)) as database:  # a day passes
        day_us = 24 * 3600 * 1_000_000
        database.execute("UPDATE ledger SET started_at = started_at - ?", (day_us,))
        database.commit()
    with gateway:
        fourth = ask(gateway, "day", max_tokens=100)

    statuses = [answer.status for answer in (first, second, third, fourth)]
    assert statuses == [200, 402, 402, 200]
    now = datetime.now(ZoneInfo(NOON))
    ends = datetime.combine(now.date() + timedelta(days=1), time.min, now.tzinfo)
    assert 0 <= int(second.headers["retry-after"]) - (ends - now).total_seconds() < 60
    assert second.headers["x-should-retry"] == "false"
