"""Prices that nobody stated beside a model: listed, billed, guessed, or not to be had."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pricing.cost import cost, dollars
from pricing.files import SHIPPED, read
from pricing.usage import Usage
from techniques.core.json import Json
from tests.conformance.stage import Stage
from tests.fakes import script
from tests.fakes.gateway import hashed
from tests.fakes.script import begin, counts, done, finish, sse, text, usage

LISTED: dict[str, Json] = {
    "providers": {"oa": {"priced_as": "openai"}},
    "models": [
        {"name": "mini", "provider": "oa", "model": "gpt-4o-mini-2024-07-18"},
        {"name": "new", "provider": "oa", "model": "gpt-made-up"},
    ],
}
BILLED: dict[str, Json] = {
    "providers": {"oa": {"priced_as": "openrouter"}},
    "models": [{"name": "routed", "provider": "oa", "model": "made-up/model"}],
}
MANY: dict[str, Json] = {
    "providers": {"oa": {"priced_as": "openai"}},
    "models": [{"name": "openai/*", "provider": "oa", "model": "*"}],
    "upstream": {"list_s": 0},
}
SPENDER = {"name": "spender", "hash": hashed("spender-key"), "budget": {"usd": 1, "period": "day"}}


def guessing(guess: str) -> dict[str, Json]:
    nobody = {"url": "http://127.0.0.1:9/models", "keep": "1d"}
    return {
        "models": [{"name": "house-7b", "provider": "oa"}],
        "keys": [SPENDER],
        "pricing": {"guess": guess, "catalogue": nobody},
    }


@pytest.mark.gateway(LISTED)
def test_a_model_that_states_no_price_has_the_listed_one(stage: Stage) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 800}}
    stage.upstream.plays(script.completion(used=counts(1000, 100, **details)))

    row = stage.row(stage.chat(model="mini"))

    price = read(SHIPPED).table.find("openai", "gpt-4o-mini", datetime.now(UTC).date())
    assert price is not None
    assert row["cost_source"] == "table"
    assert row["cost_usd"] == dollars(cost(Usage(1000, 100, 800), price))


@pytest.mark.gateway(LISTED)
def test_a_model_that_no_list_has_costs_an_unknown_sum(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(1000, 100)))

    row = stage.row(stage.chat(model="new"))

    assert (row["cost_usd"], row["cost_source"]) == (None, "unknown")
    assert "models.new: no price is known" in stage.gateway.log


@pytest.mark.gateway(MANY)
@pytest.mark.parametrize("path", ["chat", "messages", "technique"])
def test_a_beginning_that_is_the_gateways_own_is_not_the_providers(stage: Stage, path: str) -> None:
    stage.upstream.chooses(lambda _: script.completion(used=counts(1000, 100)))

    if path == "messages":
        answer = stage.messages(model="openai/gpt-4o-mini")
    else:
        slug = "self_consistency/" if path == "technique" else ""
        answer = stage.chat(model=f"{slug}openai/gpt-4o-mini")

    assert {asked.body["model"] for asked in stage.upstream.asked} == {"gpt-4o-mini"}
    assert answer.headers["x-lockgate-model"] == "openai/gpt-4o-mini"
    rows = stage.rows(answer.request_id)
    assert {(row["model"], row["cost_source"]) for row in rows} == {("openai/*", "table")}
    assert stage.chat(model="openai/").status == 404


@pytest.mark.gateway(BILLED)
@pytest.mark.parametrize("form", ["stream", "whole"])
def test_what_a_host_charges_is_what_a_call_costs(stage: Stage, form: str) -> None:
    if form == "whole":
        stage.upstream.plays(script.completion(used=counts(1000, 100, cost=0.00123)))
        request_id = stage.chat(model="routed").request_id
    else:
        last = usage(1000, 100, cost=0.00123)
        stage.upstream.plays(sse(begin(), text("River"), finish(), last, done()))
        request_id = stage.chat_stream(model="routed").request_id

    (row,) = stage.rows(request_id)
    assert (Decimal(row["cost_usd"]), row["cost_source"]) == (Decimal("0.00123"), "provider")


@pytest.mark.gateway(BILLED)
def test_what_the_operator_states_counts_before_what_a_host_charges(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(1000, 1000, cost=7)))

    row = stage.row(stage.chat(model="oa-own"))

    assert (Decimal(row["cost_usd"]), row["cost_source"]) == (Decimal("0.003"), "operator")


@pytest.mark.gateway(guessing("record"))
def test_a_guess_is_recorded_as_one_and_no_budget_relies_on_it(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(1000, 1000)))

    row = stage.row(stage.chat(model="house-7b"))
    refused = stage.chat(model="house-7b", headers={"authorization": "Bearer spender-key"})

    # 2,000 tokens at 10 cents a million, by seven billion parameters
    assert (Decimal(row["cost_usd"]), row["cost_source"]) == (Decimal("0.0002"), "inferred")
    assert (refused.status, refused.json["error"]["code"]) == (400, "price_unknown")
    assert "WARNING: models.house-7b: THE PRICE IS GUESSED" in stage.gateway.log


@pytest.mark.gateway(guessing("budget"))
def test_a_budget_relies_on_guesses_where_the_operator_says_so(stage: Stage) -> None:
    stage.upstream.plays(script.completion(used=counts(1000, 1000)))

    answer = stage.chat(model="house-7b", headers={"authorization": "Bearer spender-key"})

    assert answer.status == 200
    assert stage.row(answer)["cost_source"] == "inferred"


@pytest.mark.gateway(guessing("record"))
def test_a_catalogue_that_cannot_be_had_is_a_warning_and_stops_nothing(stage: Stage) -> None:
    stage.upstream.plays(script.completion())

    assert stage.chat(model="oa-own").status == 200
    assert "warning: pricing.catalogue: none could be had from 127.0.0.1" in stage.gateway.log
