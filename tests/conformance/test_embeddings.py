"""Embeddings are metered, budgeted, paced, retried and cancelled as conversations are."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal

import pytest

from techniques.core.json import Json
from tests.conformance.replicas import PICO, at_once, booked, rows, secret, with_budget
from tests.conformance.stage import Stage
from tests.fakes.client import dial, request
from tests.fakes.embeddings import answer_to
from tests.fakes.gateway import KEYS, hashed
from tests.fakes.script import Answer, body, dumps, error, raw
from tests.fakes.upstream import Asked
from tests.patience import eventually

PATH = "/v1/embeddings"
PRICE = {"input": 1000, "output": 0}
"""A token costs a thousandth of a dollar."""
EMBED = {"capabilities": {"embeddings": True}}
CHANGES: dict[str, Json] = {
    "upstream": {"retries": 1, "backoff_s": 0.01},
    "models": [
        {"name": "oa-embed", "provider": "oa", "model": "e", "price": PRICE, **EMBED},
        {"name": "oa-tight", "provider": "oa", "model": "t", "price": PRICE, **EMBED}
        | {"batch": {"inputs": 2}},
        {"name": "oa-unpriced", "provider": "oa", "model": "u", **EMBED},
        {"name": "oa-fails", "provider": "gone", "model": "f", "price": PRICE, **EMBED}
        | {"fallbacks": ["oa-model-chat", "oa-embed"]},
        {"name": "oa-model-chat", "provider": "oa", "capabilities": {"embeddings": False}},
    ],
    "keys": [
        with_budget("crowd", "1"),
        with_budget("parts", "1"),
        with_budget("named", "1"),
        {"name": "few", "hash": hashed(secret("few")), "rpm": 2},
        {"name": "thin", "hash": hashed(secret("thin")), "tpm": 300},
    ],
}
pytestmark = pytest.mark.gateway(CHANGES)


def asked(given: Json, model: str = "oa-embed", **more: Json) -> dict[str, Json]:
    return {"model": model, "input": given, **more}


def well(asked: Asked) -> Answer:
    return body(answer_to(asked.body))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret(key)}"}


def outcomes(answers: list[Json]) -> dict[int, int]:
    """Return how many of *answers* have each status."""
    statuses = [answer.status for answer in answers]
    return {status: statuses.count(status) for status in sorted(set(statuses))}


def test_a_row_tells_what_was_used_and_what_it_cost(stage: Stage) -> None:
    stage.upstream.chooses(well)

    answer = stage.post(PATH, asked("one two three"))

    (row,) = stage.rows(answer.headers["x-lockgate-request-id"])
    assert (row["role"], row["model"], row["outcome"]) == ("embedding", "oa-embed", "ok")
    assert (row["input_tokens"], row["output_tokens"], row["estimated"]) == (3, 0, False)
    assert Decimal(row["cost_usd"]) == Decimal("0.003")
    assert row["cost_source"] == "operator"


def test_parts_are_rows_whose_costs_add_up(stage: Stage) -> None:
    stage.upstream.chooses(well)

    answer = stage.post(PATH, asked(["a", "b c", "d", "e", "f"], "oa-tight"))

    found = stage.rows(answer.headers["x-lockgate-request-id"], least=3)
    assert sorted(row["step"] for row in found) == ["0.0", "0.1", "0.2"]
    assert sum(Decimal(row["cost_usd"]) for row in found) == Decimal("0.006")
    assert answer.headers["x-lockgate-cost-usd"] == "0.006"
    assert answer.json["usage"]["prompt_tokens"] == 6


def test_what_a_host_does_not_count_is_guessed_and_said_to_be(stage: Stage) -> None:
    told = answer_to(asked("one two three"))
    del told["usage"]
    stage.upstream.plays(body(told))

    answer = stage.post(PATH, asked("one two three"))

    (row,) = stage.rows(answer.headers["x-lockgate-request-id"])
    assert row["estimated"]
    assert row["input_tokens"] > 3
    assert row["output_tokens"] == 0


def test_a_budget_holds_for_any_number_at_once(stage: Stage) -> None:
    stage.upstream.chooses(lambda asked: well(asked).later(0.2))
    text = "word " * 100

    answers = at_once(30, lambda _n: stage.post(PATH, asked(text), headers=bearer("crowd")))

    counts = outcomes(answers)
    assert set(counts) == {200, 402}
    assert counts[200] == len(stage.upstream.asked) <= 10
    refused = next(answer for answer in answers if answer.status == 402)
    assert refused.json["error"]["code"] == "budget_exhausted"
    assert refused.headers["x-should-retry"] == "false"
    assert eventually(lambda: booked(stage.gateway, "crowd") == counts[200] * PICO // 10)


def test_a_budget_holds_between_the_parts_of_one_request(stage: Stage) -> None:
    stage.upstream.chooses(well)
    texts = ["word " * 100] * 40

    answer = stage.post(PATH, asked(texts, "oa-tight"), headers=bearer("parts"))

    assert answer.status == 402
    assert len(stage.upstream.asked) <= 5
    assert booked(stage.gateway, "parts") <= PICO


def test_a_budget_wants_a_price(stage: Stage) -> None:
    answer = stage.post(PATH, asked("a", "oa-unpriced"), headers=bearer("crowd"))

    assert (answer.status, answer.json["error"]["code"]) == (400, "price_unknown")


def test_a_key_makes_as_many_requests_a_minute_as_it_may(stage: Stage) -> None:
    stage.upstream.chooses(well)

    answers = [stage.post(PATH, asked("a"), headers=bearer("few")) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 429]
    assert answers[2].json["error"]["code"] == "key_rate_limited"
    assert int(answers[2].headers["retry-after"]) >= 1


def test_a_keys_tokens_are_counted(stage: Stage) -> None:
    stage.upstream.chooses(well)
    text = "word " * 60

    answers = [stage.post(PATH, asked(text), headers=bearer("thin")) for _ in range(8)]

    counts = outcomes(answers)
    assert set(counts) == {200, 429}
    assert 1 <= counts[200] <= 5


def test_a_host_that_fails_is_asked_again(stage: Stage) -> None:
    told = answer_to(asked("a"))
    stage.upstream.plays(error(500), body(told))

    answer = stage.post(PATH, asked("a"))

    assert (answer.status, answer.json) == (200, told)
    found = stage.rows(answer.headers["x-lockgate-request-id"], least=2)
    assert sorted(row["outcome"] for row in found) == ["ok", "server"]


def test_an_answer_that_breaks_off_is_asked_for_again(stage: Stage) -> None:
    told = answer_to(asked("a"))
    short = body({**told, "data": []})
    stage.upstream.plays(short, body(told))

    assert stage.post(PATH, asked("a")).json == told


def test_a_part_is_asked_for_again_by_itself(stage: Stage) -> None:
    failed: list[Json] = []

    def once(call: Asked) -> Answer:
        if call.body["input"] == ["c", "d"] and not failed:
            failed.append(call.body)
            return error(503)
        return well(call)

    stage.upstream.chooses(once)
    answer = stage.post(PATH, asked(["a", "b", "c", "d"], "oa-tight"))

    assert answer.status == 200
    assert sorted(call.body["input"] for call in stage.upstream.asked) == [
        ["a", "b"],
        ["c", "d"],
        ["c", "d"],
    ]


def test_a_model_that_is_down_has_another_of_its_kind(stage: Stage) -> None:
    stage.upstream.chooses(well)

    answer = stage.post(PATH, asked("a", "oa-fails"))

    assert answer.status == 200
    assert answer.headers["x-lockgate-model"] == "oa-embed"
    assert "fallback: oa-embed" in answer.headers["x-lockgate-warnings"]


@pytest.mark.parametrize("model", ["oa-embed", "oa-tight"])
def test_who_leaves_has_his_calls_cancelled(stage: Stage, model: str) -> None:
    stage.uncounted()
    stage.upstream.chooses(lambda call: well(call).later(20))
    headers = {"authorization": f"Bearer {KEYS['k1']}"}
    sent = request(PATH, dumps(asked(["a", "b", "c"], model)), headers)
    with dial(stage.gateway.port, sent):
        calls = 1 if model == "oa-embed" else 2
        assert eventually(lambda: len(stage.upstream.asked) == calls)

    assert eventually(lambda: all(call.left is not None for call in stage.upstream.asked))


def test_a_large_answer_waits_for_a_slow_reader(stage: Stage) -> None:
    told = dumps(answer_to(asked("a"))) + b" " * 6_000_000
    stage.upstream.plays(raw(told))

    with stage.open(PATH, asked("a")) as exchange:
        time.sleep(0.3)
        answer = exchange.whole()

    assert answer.headers["content-length"] == str(len(told))
    assert answer.body == told


def test_who_leaves_in_the_midst_of_a_large_answer_is_gone(stage: Stage) -> None:
    stage.upstream.plays(raw(dumps(answer_to(asked("a"))) + b" " * 40_000_000))
    before = counted(stage, "client_disconnect")

    with stage.open(PATH, asked("a")) as exchange:
        assert exchange.status == 200
        exchange.leave()

    assert eventually(lambda: counted(stage, "client_disconnect") == before + 1)


def test_one_name_for_many_requests_makes_none_of_them_free(stage: Stage) -> None:
    """A run is written down once; embeddings are no runs, whatever they are called."""
    stage.upstream.chooses(well)
    named = {**bearer("named"), "idempotency-key": "the-same"}

    answers = [stage.post(PATH, asked("a"), headers=named) for _ in range(2)]

    assert outcomes(answers) == {200: 2}
    assert len(stage.upstream.asked) == 2
    assert eventually(lambda: len(rows(stage.gateway, "named")) == 2)
    assert booked(stage.gateway, "named") == PICO // 500


def test_outcomes_are_counted_by_their_dialect(stage: Stage) -> None:
    stage.upstream.chooses(well)
    before = counted(stage)

    stage.post(PATH, asked("a"))

    assert eventually(lambda: counted(stage) == before + 1)


def counted(stage: Stage, outcome: str = "success") -> float:
    return sum(_values(stage.gateway.get("/metrics").body.decode(), outcome))


def _values(text: str, outcome: str) -> Iterator[float]:
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith("lockgate_requests_total{") and f'outcome="{outcome}"' in name:
            yield float(value) if "openai_embeddings" in name else 0.0


@pytest.mark.gateway(
    {
        **CHANGES,
        "pacing": {"mode": "on"},
        "providers": {"oa": {"limits": {"rpm": 2, "minute_s": 12}}},
    }
)
def test_calls_wait_for_the_window_of_their_account(stage: Stage) -> None:
    stage.upstream.chooses(well)
    began = time.monotonic()

    answers = [stage.post(PATH, asked("a")) for _ in range(3)]

    assert outcomes(answers) == {200: 3}
    assert time.monotonic() - began > 1
    assert "x-lockgate-paused-ms" in answers[2].headers
