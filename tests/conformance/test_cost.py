"""What tokens cost by the operator's own prices."""

from __future__ import annotations

from decimal import Decimal

import pytest

from techniques.core.json import Json
from tests.conformance.stage import ONCE, Stage
from tests.fakes import script
from tests.fakes.script import counts, message_end, message_start, sse, text_block


def dollars(row: Json) -> Decimal:
    """Return what *row* cost, exactly."""
    return Decimal(str(row["cost_usd"]))


@pytest.mark.case("COST-01")
def test_tokens_written_to_the_cache_are_charged_once(stage: Stage) -> None:
    used = {
        "input_tokens": 4,
        "output_tokens": 60,
        "cache_creation_input_tokens": 2000,
        "cache_read_input_tokens": 0,
    }
    stage.upstream.plays(script.message(used=used))

    answer = stage.chat(model="an-model")

    assert dollars(stage.row(answer)) == Decimal("0.008412")
    told = answer.json["usage"]
    assert told["prompt_tokens"] == 2004
    assert told["completion_tokens"] == 60
    assert told["prompt_tokens_details"]["cached_tokens"] == 0


@pytest.mark.case("COST-02")
@pytest.mark.parametrize("form", ["chat", "messages", "whole"])
def test_tokens_read_from_the_cache_have_their_own_price(stage: Stage, form: str) -> None:
    cached = {"cache_read_input_tokens": 3000, "cache_creation_input_tokens": 0}
    if form == "whole":
        used = {"input_tokens": 5, "output_tokens": 30, **cached}
        stage.upstream.plays(script.message(used=used))
        row = stage.row(stage.messages(model="an-model"))
    else:
        start = message_start(5, 1, **cached)
        stage.upstream.plays(sse(start, text_block("River"), message_end(wrote=30)))
        ask = stage.chat_stream if form == "chat" else stage.messages_stream
        row = stage.row(ask(model="an-model"))

    assert dollars(row) == Decimal("0.001365")


@pytest.mark.case("COST-03")
def test_cached_tokens_are_part_of_the_prompt(stage: Stage) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 900}}
    stage.upstream.plays(script.completion(used=counts(1200, 20, **details)))

    assert dollars(stage.row(stage.chat())) == Decimal("0.00147")


@pytest.mark.case("COST-04")
def test_a_model_without_a_price_costs_an_unknown_sum_and_not_nothing(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(1000, 1000)))

    answer = stage.chat(model="oa-free")

    row = stage.row(answer)
    assert row["cost_usd"] is None
    assert row["cost_source"] == "unknown"
    assert answer.headers["x-lockgate-cost-source"] == "unknown"
    assert "x-lockgate-cost-usd" not in answer.headers


@pytest.mark.case("COST-05")
def test_the_operators_price_is_the_price(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(2000, 1000)))

    row = stage.row(stage.chat(model="oa-own"))

    assert dollars(row) == Decimal("0.004")
    assert row["cost_source"] == "operator"


@pytest.mark.case("COST-08")
@pytest.mark.parametrize(("model", "owed"), [("oa-model", "0.03249"), ("oa-own", "0.001284")])
def test_audio_has_its_own_price_or_that_of_text(stage: Stage, model: str, owed: str) -> None:
    details = {
        "prompt_tokens_details": {"audio_tokens": 60},
        "completion_tokens_details": {"audio_tokens": 482},
    }
    stage.upstream.plays(script.completion(used=counts(100, 592, **details)))

    assert dollars(stage.row(stage.chat(model=model))) == Decimal(owed)


@pytest.mark.case("COST-10")
@pytest.mark.gateway(ONCE)
def test_each_attempt_has_the_price_of_its_own_model(stage: Stage) -> None:
    stage.upstream.plays(
        script.choices(used=counts(100, 10)).only_for("real-first"),
        script.message(used={"input_tokens": 100, "output_tokens": 10}).only_for("real-cheap"),
    )

    answer = stage.chat(model="oa-first")

    assert answer.status == 200
    rows = stage.rows(answer.request_id, least=2)
    assert [row["model"] for row in rows] == ["oa-first", "an-cheap"]
    assert [dollars(row) for row in rows] == [Decimal("0.00045"), Decimal("0.00011")]
    assert Decimal(answer.headers["x-lockgate-cost-usd"]) == Decimal("0.00056")
