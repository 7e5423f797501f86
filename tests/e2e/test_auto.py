"""A router chooses, what came of it is observed, and clients say what it was worth."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from techniques.core.json import Json
from tests.fakes.client import Exchange, Reply, request
from tests.fakes.gateway import ADMIN_TOKEN, KEYS, Gateway, settings
from tests.patience import eventually

ASKED = [{"role": "user", "content": "What is 17 * 23?"}]


def _changes(folder: Path, router: Mapping[str, Json]) -> dict[str, Json]:
    price = {"input": 1, "output": 2}
    dear = {"input": 10, "output": 20}
    sim = {"provider": "sim"}
    return {
        "providers": {"sim": {"dialect": "openai_chat", "simulated": {"seed": 7}}},
        "models": [
            {**sim, "name": "small", "model": "sim-small", "price": price, "stronger": "large"},
            {**sim, "name": "large", "model": "sim-large", "price": dear},
        ],
        "reliability": {"judge": "large"},
        "database": {"url": f"sqlite:///{folder}/all.db"},
        "router": dict(router),
    }


LEARNING: Json = {"type": "semknn", "learning": {"enabled": True}}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, LEARNING))) as running:
        yield running


def post(gateway: Gateway, path: str, body: Json, key: str = "k1", **headers: str) -> Reply:
    said = {"authorization": f"Bearer {KEYS.get(key, key)}", **headers}
    return Exchange(gateway.port, request(path, json.dumps(body).encode(), said)).whole()


def ask(gateway: Gateway, model: str = "auto/small", **wishes: str) -> Reply:
    headers = {f"x-lockgate-{name}": value for name, value in wishes.items()}
    answer = post(gateway, "/v1/chat/completions", {"model": model, "messages": ASKED}, **headers)
    assert answer.status == 200, answer.body
    return answer


def observed(gateway: Gateway) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(gateway.folder / "all.db")) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM router_observations")]


def forgotten(gateway: Gateway, key: str = "k1") -> int:
    told = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    path = f"/admin/observations?key={key}"
    deleted = Exchange(gateway.port, request(path, None, told, "DELETE")).whole()
    assert deleted.status == 200, deleted.body
    return int(deleted.json["forgotten"])


def test_a_router_chooses_and_what_came_of_it_is_observed(gateway: Gateway) -> None:
    answer = ask(gateway, category="sums", **{"lambda": "2"})
    plain = ask(gateway, "small")

    assert answer.headers["x-lockgate-route"].startswith("auto, semknn: ")
    assert "x-lockgate-warnings" not in answer.headers
    assert plain.headers.get("x-lockgate-route") is None
    assert eventually(lambda: len(observed(gateway)) == 1)
    (row,) = observed(gateway)
    assert (row["request_id"], row["caller"]) == (answer.request_id, "k1")
    assert (row["arm"], row["model"]) == (answer.headers["x-lockgate-technique"], "small")
    assert json.loads(row["features"])["label"] == "sums"
    assert row["vector"]
    assert "What is" not in row["features"]
    assert row["quality"] is None


def test_the_ledger_tells_what_was_chosen(gateway: Gateway) -> None:
    answer = ask(gateway, **{"lambda": "2"})
    path = f"/admin/ledger?request={answer.request_id}"

    def told() -> Json:
        return gateway.get(path, ADMIN_TOKEN).json.get("request")

    assert eventually(lambda: told() is not None)
    routed = told()["routed"]
    assert (routed["arm"], routed["router"], routed["lambda"]) == ("none", "semknn", 2.0)
    assert 0 < routed["propensity"] <= 1
    plain = ask(gateway, "small").request_id
    found = gateway.get(f"/admin/ledger?request={plain}", ADMIN_TOKEN).json["request"]
    assert found["routed"] is None


def test_who_made_a_request_says_what_its_answer_was_worth_and_nobody_else_does(
    gateway: Gateway,
) -> None:
    name = ask(gateway).request_id
    for _ in range(2):
        assert post(gateway, "/v1/feedback", {"request_id": name, "score": 0.25}).status == 200
    for body, key in (
        ({"request_id": name, "score": 1}, "k2"),
        ({"request_id": "nobody's", "score": 1}, "k1"),
        ({"request_id": ask(gateway, "small").request_id, "score": 1}, "k1"),
    ):
        refused = post(gateway, "/v1/feedback", body, key)
        assert (refused.status, refused.json["error"]["code"]) == (404, "request_not_found")

    (row,) = observed(gateway)
    assert (row["quality"], row["plain_quality"], row["source"]) == (0.25, 0.25, "feedback")


def test_who_says_so_decides_how_far_it_is_believed(gateway: Gateway) -> None:
    name, told = ask(gateway).request_id, list[tuple[float, str, float]]()
    for source, score in (("tool", 0.2), ("test", 1.0), ("tool", 0.4)):
        said = {"request_id": name, "score": score, "source": source}
        assert post(gateway, "/v1/feedback", said).status == 200
        (row,) = observed(gateway)
        told.append((row["quality"], row["source"], row["reliability"]))

    assert told[:2] == [(0.2, "tool_success", 0.7), (1.0, "tests", 1.0)]
    assert told[2] == told[1]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"request_id": "r", "score": 2}, "score"),
        ({"request_id": "r", "score": True}, "score"),
        ({"request_id": "r"}, "score"),
        ({"score": 1}, "request_id"),
        ({"request_id": "r", "score": 1, "comment": "x"}, "comment"),
        ({"request_id": "r", "score": 1, "plain_score": -1}, "plain_score"),
        ({"request_id": "r", "score": 1, "source": "judge"}, "source"),
    ],
)
def test_feedback_that_is_none_is_refused_by_its_field(
    gateway: Gateway, body: Json, param: str
) -> None:
    refused = post(gateway, "/v1/feedback", body)

    assert (refused.status, refused.json["error"]["param"]) == (400, param)
    assert post(gateway, "/v1/feedback", body, "no key").status == 401


def test_feedback_is_taken_after_a_restart_and_all_of_a_key_is_deleted(tmp_path: Path) -> None:
    config = settings(9, 9, _changes(tmp_path, LEARNING))
    with Gateway(tmp_path, config) as gateway:
        names = [ask(gateway).request_id for _ in range(3)]
    with Gateway(tmp_path, config) as gateway:
        said = post(gateway, "/v1/feedback", {"request_id": names[0], "score": 1})
        assert said.status == 200
        other = post(gateway, "/v1/feedback", {"request_id": names[0], "score": 0}, "k2")
        assert other.status == 404
        assert [row["quality"] for row in observed(gateway)] == [1.0, None, None]
        assert forgotten(gateway) == 3
        assert observed(gateway) == []


@pytest.mark.parametrize("later", [{"type": "semknn"}, {"type": "fixed"}])
def test_what_was_observed_of_a_key_can_be_deleted_when_nothing_is_learnt_any_more(
    tmp_path: Path, later: Mapping[str, Json]
) -> None:
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, LEARNING))) as gateway:
        ask(gateway)
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, later))) as gateway:
        assert len(observed(gateway)) == 1
        assert forgotten(gateway, "k2") == 0
        assert forgotten(gateway) == 1
        assert observed(gateway) == []


def test_an_answer_that_is_asked_for_again_was_none_if_that_is_to_be_heard(
    tmp_path: Path,
) -> None:
    router: Json = {"type": "semknn", "learning": {"enabled": True, "reasks": True}}
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, router))) as gateway:
        first, second = ask(gateway).request_id, ask(gateway).request_id

        def said() -> dict[str, tuple[float | None, str]]:
            rows = observed(gateway)
            return {row["request_id"]: (row["quality"], row["source"]) for row in rows}

        assert eventually(lambda: said() == {first: (0.0, "reask"), second: (None, "")})


def test_nothing_is_learnt_unless_it_is_asked_for(tmp_path: Path) -> None:
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, {"type": "semknn"}))) as gateway:
        name = ask(gateway).request_id
        assert post(gateway, "/v1/feedback", {"request_id": name, "score": 1}).status == 404
        assert observed(gateway) == []


def test_a_router_far_away_that_is_not_there_costs_no_request(tmp_path: Path) -> None:
    patient = {"timeout_ms": 10_000}  # who listens nowhere is gone, and not slow
    gone = {"type": "semknn", "url": "http://127.0.0.1:9", "learning": {"enabled": True}, **patient}
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, gone))) as gateway:
        answers = [ask(gateway) for _ in range(8)]
        for answer in answers:
            assert answer.headers["x-lockgate-technique"] == "none"
            assert "router_unavailable: gone" in answer.headers["x-lockgate-warnings"]
            assert float(answer.headers["x-lockgate-overhead-ms"]) < 10_000
        refused = post(gateway, "/v1/feedback", {"request_id": answers[0].request_id, "score": 1})
        assert (refused.status, refused.json["error"]["code"]) == (503, "router_lost")


def test_a_table_decides_with_the_techniques_and_options_of_its_rows(tmp_path: Path) -> None:
    rows: Json = [
        {
            "name": "sums",
            "technique": "self_consistency",
            "params": {"num_samples": 7, "stop": "exact"},
            "when": {"category": "reasoning"},
        },
        {"name": "rest", "technique": "none", "model": "large"},
    ]
    router: Json = {"type": "acm_table", "acm_table": {"rows": rows}}
    with Gateway(tmp_path, settings(9, 9, _changes(tmp_path, router))) as gateway:
        summed = ask(gateway)
        hello = {"model": "auto/small", "messages": [{"role": "user", "content": "Hello there"}]}
        rest = post(gateway, "/v1/chat/completions", hello)

    told = summed.headers
    assert told["x-lockgate-technique"] == "self_consistency", told
    assert 4 <= int(told["x-lockgate-calls"]) <= 7
    assert told["x-lockgate-route"] == "auto, acm_table: sums"
    assert (rest.headers["x-lockgate-technique"], rest.headers["x-lockgate-model"]) == (
        "none",
        "large",
    )
