"""What is learnt beside the traffic: in nobody's way, on nobody's bill, and within its budget."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import KEYS, Gateway, settings
from tests.patience import eventually

SHARE = 1.0
STUDIES = {"judge_sample", "full_trace"}
LEARNING: Json = {
    "type": "semknn",
    "embedding": {"kind": "hashed"},
    "learning": {
        "enabled": True,
        "exploration": {"share": 0.2, "rate": 0.5, "max_usd": 1},
        "sampling": {"share": SHARE, "judge_rate": 0.3, "trace_rate": 0.3, "trace_samples": 3},
    },
}


def _changes(folder: Path) -> dict[str, Json]:
    sim = {"provider": "sim"}
    large = {"model": "sim-large", "price": {"input": 20, "output": 60}}
    return {
        "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 7}}},
        "models": [
            {
                **sim,
                "name": "small",
                "model": "sim-small",
                "price": {"input": 10, "output": 30},
                "stronger": "large",
            },
            {**sim, "name": "large", **large},
            {**sim, "name": "judge", **large, "price": {"input": 0.01, "output": 0.01}},
        ],
        "reliability": {"judge": "judge"},
        "database": {"url": f"sqlite:///{folder}/all.db"},
        "router": LEARNING,
    }


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path))) as running:
        yield running


def ask(gateway: Gateway, first: int) -> Reply:
    turns = [{"role": "user", "content": f"What is {first} * {first + 6}?"}]
    body = json.dumps({"model": "auto/small", "messages": turns}).encode()
    said = {"authorization": f"Bearer {KEYS['k1']}"}
    answer = Exchange(gateway.port, request("/v1/chat/completions", body, said)).whole()
    assert answer.status == 200, answer.body
    return answer


def rows(gateway: Gateway, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(gateway.folder / "all.db")) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]


def learning(gateway: Gateway) -> list[dict[str, Any]]:
    return [row for row in rows(gateway, "ledger") if row["request_id"].startswith("learn-")]


def studies(gateway: Gateway) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for line in gateway.get("/metrics").body.decode().splitlines():
        if line.startswith("lockgate_learning_studies_total{"):
            labels, number = line.split("} ")
            kind, result = (part.split('"')[1] for part in labels.split("{")[1].split(","))
            found[kind, result] += int(float(number))
    return found


def test_answers_are_studied_within_the_budget_and_on_nobodys_bill(gateway: Gateway) -> None:
    answers = [ask(gateway, first) for first in range(11, 71)]

    assert eventually(lambda: studies(gateway)["full_trace", "learnt"] >= 1)
    assert eventually(lambda: studies(gateway)["judge_sample", "learnt"] >= 3)
    assert eventually(lambda: {row["technique"] for row in learning(gateway)} == STUDIES)
    told = [float(answer.headers["x-lockgate-cost-usd"]) for answer in answers]
    calls = learning(gateway)
    assert {row["role"] for row in calls} >= {"candidate", "judge"}
    assert {row["key"] for row in calls} == {None}
    own = [row for row in rows(gateway, "ledger") if not row["request_id"].startswith("learn-")]
    assert sum(row["cost"] for row in own) / 1e12 == pytest.approx(sum(told))
    assert sum(row["cost"] for row in calls) / 1e12 <= 1.1 * SHARE * sum(told)


def test_what_was_found_is_kept_with_what_was_observed(gateway: Gateway) -> None:
    for first in range(11, 51):
        ask(gateway, first)

    assert eventually(lambda: studies(gateway)["full_trace", "learnt"] >= 1)
    assert eventually(lambda: studies(gateway)["judge_sample", "learnt"] >= 3)
    assert eventually(lambda: any(row["counterfactual"] for row in observed(gateway)))
    replayed = [row for row in observed(gateway) if row["counterfactual"]]
    judged = [
        row for row in observed(gateway) if not row["counterfactual"] and row["source"] == "judge"
    ]
    assert {row["arm"] for row in replayed} >= {"none", "self_consistency/3", "none/-/large"}
    assert all(row["vector"] and row["plain_quality"] is not None for row in replayed)
    assert judged
    assert all(row["plain_quality"] is not None for row in judged)
    assert all(row["reliability"] == 0.6 for row in [*replayed, *judged])


def observed(gateway: Gateway) -> list[dict[str, Any]]:
    return rows(gateway, "router_observations")
