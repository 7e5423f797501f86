"""Price lists of other makers. The lists are made up; their shapes are the makers'."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from types import SimpleNamespace as Made
from typing import Any

import pytest

from pricing.files import row_of
from pricing.formats import agent_compiler, genai, litellm, openrouter
from pricing.table import RowRecord


def told(rows: Any) -> list[dict[str, Any]]:
    return [row_of(row) for row in rows]


def test_agent_compilers_rates_are_dollars_per_million_tokens() -> None:
    listed = [
        {
            "model": "m",
            "provider": "p",
            "input_per_mtok": 3,
            "output_per_mtok": 15.5,
            "cached_input_per_mtok": 0.3,
            "cache_write_5m_per_mtok": 3.75,
            "tool_use_per_mtok": 9,
            "as_of": "2026-08-07",
        }
    ]

    assert agent_compiler.fits(listed)
    assert told(agent_compiler.rows(listed)) == [
        {"provider": "p", "model": "m", "input": 3, "output": 15.5, "cache_read": 0.3,
         "cache_write": 3.75},
    ]  # fmt: skip


@pytest.mark.parametrize("value", [[], {}, [{"model": "m"}], ["m"], None])
def test_other_lists_are_not_agent_compilers(value: Any) -> None:
    assert not agent_compiler.fits(value)


def test_an_own_list_with_a_row_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="provider"):
        list(agent_compiler.rows([{"model": "m", "input_per_mtok": 1, "output_per_mtok": 1}]))


def priced(name: Any, **pricing: Any) -> dict[str, Any]:
    return {"id": name, "pricing": pricing}


def catalogue(*items: Any) -> list[dict[str, Any]]:
    return told(openrouter.rows({"data": [*items]}))


def test_a_catalogues_rates_are_dollars_per_token_in_words() -> None:
    item = priced(
        "deepseek/deepseek-chat",
        prompt="0.00000027",
        completion="0.0000011",
        input_cache_read="0.000000027",
        audio="0.000001",
        request="0.01",
        image="0.003",
        web_search="0.01",
        internal_reasoning="0",
    )

    assert catalogue(item) == [
        {"provider": "openrouter", "model": "deepseek/deepseek-chat", "input": 0.27, "output": 1.1,
         "cache_read": 0.027, "audio_input": 1, "per_request": 0.01},
    ]  # fmt: skip


def test_a_maker_who_sells_at_list_price_has_the_row_too() -> None:
    rates = {"prompt": "0.0000025", "completion": "0.00001"}

    assert catalogue(priced("openai/gpt-x", **rates)) == [
        {"provider": "openrouter", "model": "openai/gpt-x", "input": 2.5, "output": 10},
        {"provider": "openai", "model": "gpt-x", "input": 2.5, "output": 10,
         "caveats": ["listed_by_reseller"]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["openai/gpt-oss-120b", "google/gemma-3-27b", "openai/gpt-x:free", "meta/llama-8b"]
)
def test_what_every_host_prices_itself_stays_the_resellers(name: str) -> None:
    (row,) = catalogue(priced(name, prompt="0.000001", completion="0.000001"))

    assert row["provider"] == "openrouter"


def test_a_free_model_is_free() -> None:
    (row,) = catalogue(priced("x/y:free", prompt="0", completion="0", input_cache_read="0"))

    assert (row["input"], row["output"], row["cache_read"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "item",
    [
        "x",
        {"id": "x/y"},
        {"id": 7, "pricing": {"prompt": "1", "completion": "1"}},
        priced("x/y", prompt="0.1"),
        priced("x/y", prompt="-1", completion="-1"),
        priced("x/y", prompt="NaN", completion="1"),
        priced("x/y", prompt="1e9", completion="1"),
        priced("x/y", prompt="cheap", completion=None),
    ],
)
def test_what_has_no_price_in_a_catalogue_is_left_out(item: Any) -> None:
    assert catalogue(item) == []


def test_a_catalogue_is_told_by_its_data() -> None:
    assert openrouter.fits({"data": []})
    assert not openrouter.fits({"data": {}})
    assert not openrouter.fits([])


def test_litellms_names_hold_tiers_and_modes() -> None:
    listed = {
        "sample_spec": {"litellm_provider": "openai", "input_cost_per_token": 0},
        "gpt-x": {
            "litellm_provider": "openai",
            "mode": "chat",
            "max_input_tokens": 400000,
            "input_cost_per_token": Decimal("2.5e-06"),
            "output_cost_per_token": 1e-05,
            "cache_read_input_token_cost": 2.5e-07,
            "output_cost_per_reasoning_token": 1.2e-05,
            "input_cost_per_request": 0.01,
            "input_cost_per_token_above_272k_tokens": 5e-06,
            "cache_read_input_token_cost_above_272k_tokens": 5e-07,
            "input_cost_per_token_priority": 5e-06,
            "output_cost_per_token_priority": 2e-05,
            "input_cost_per_token_above_272k_tokens_priority": 1e-05,
            "input_cost_per_token_batches": 1.25e-06,
            "input_cost_per_video_per_second": 1,
        },
    }

    assert litellm.fits(listed)
    usual, priority = told(litellm.rows(listed))
    assert usual == {
        "provider": "openai", "model": "gpt-x", "input": 2.5, "output": 10, "cache_read": 0.25,
        "reasoning": 12, "per_request": 0.01, "tiers": [
            {"over": 272000, "input": 5, "output": 10, "cache_read": 0.5, "reasoning": 12,
             "per_request": 0.01},
        ],
    }  # fmt: skip
    assert priority == {
        "provider": "openai", "model": "gpt-x", "mode": "priority", "input": 5, "output": 20,
        "tiers": [{"over": 272000, "input": 10, "output": 20}],
    }  # fmt: skip


def test_an_hours_cache_write_is_no_tier() -> None:
    listed = {
        "claude-x": {
            "litellm_provider": "anthropic",
            "input_cost_per_token": 3e-06,
            "output_cost_per_token": 1.5e-05,
            "cache_creation_input_token_cost": 3.75e-06,
            "cache_creation_input_token_cost_above_1hr": 6e-06,
            "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
        }
    }

    (row,) = told(litellm.rows(listed))

    assert (row["cache_write"], row["cache_write_1h"]) == (3.75, 6)
    assert [(one["over"], one["cache_write_1h"]) for one in row["tiers"]] == [(200000, 12)]


@pytest.mark.parametrize(
    ("owner", "name", "provider", "model"),
    [
        ("gemini", "gemini/gemini-x", "google", "gemini-x"),
        ("vertex_ai-language-models", "gemini-x", "google", "gemini-x"),
        ("xai", "xai/grok-x", "x-ai", "grok-x"),
        ("groq", "groq/llama-8b", "groq", "llama-8b"),
        ("openrouter", "openrouter/openai/gpt-x", "openrouter", "openai/gpt-x"),
    ],
)
def test_litellms_providers_are_called_as_ours_are(
    owner: str, name: str, provider: str, model: str
) -> None:
    rates = {"input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06}

    (row,) = litellm.rows({name: {"litellm_provider": owner, **rates}})

    assert (row.provider, row.model) == (provider, model)


@pytest.mark.parametrize(
    "item",
    [
        "x",
        {"litellm_provider": "openai", "input_cost_per_token": 1e-06},
        {"litellm_provider": None, "input_cost_per_token": 1, "output_cost_per_token": 1},
        {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-06,
         "output_cost_per_token": 0},
        {"litellm_provider": "openai", "input_cost_per_token": 1e9, "output_cost_per_token": 1},
        {"litellm_provider": "openai", "input_cost_per_token": "1", "output_cost_per_token": "1"},
        {"litellm_provider": "openai", "input_cost_per_token": -1, "output_cost_per_token": 1},
    ],
)  # fmt: skip
def test_what_is_no_priced_model_in_litellms_map_is_left_out(item: Any) -> None:
    assert list(litellm.rows({"m": item})) == []


def test_a_map_of_something_else_is_not_litellms() -> None:
    assert not litellm.fits({"m": {"price": 1}})
    assert not litellm.fits([])


D = Decimal


def tiered(first: str, *tiers: tuple[int, str]) -> Made:
    made = [Made(start=start, price=D(price)) for start, price in tiers]
    return Made(base=D(first), tiers=made)


def equals(name: str) -> Made:
    return Made(equals=name)


def model(name: str = "m", prices: Any = None, **fields: Any) -> Made:
    known = {"match": equals(name), "price_variants": None, **fields}
    usual = Made(input_mtok=D(2), output_mtok=D(8))
    return Made(id=name, prices=usual if prices is None else prices, **known)


def provider(*models: Made, name: str = "p", pattern: str = "https://p") -> Made:
    return Made(id=name, api_pattern=pattern, models=[*models])


def rows(*models: Made) -> list[RowRecord]:
    return list(genai.rows([provider(*models)]))


def test_genais_units_become_rates_and_the_rest_is_left_out() -> None:
    prices = Made(
        input_mtok=D(2),
        output_mtok=D(8),
        cache_read_mtok=D("0.2"),
        requests_kcount=D(5),
        web_searches_kcount=D(10),
        cache_write_mtok=None,
    )

    assert told(rows(model(prices=prices))) == [
        {"provider": "p", "model": "m", "input": 2, "output": 8, "cache_read": 0.2,
         "per_request": 0.005},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "prices",
    [Made(input_mtok=D(1)), Made(audio_hours=D(1)), Made(input_mtok=None, output_mtok=D(1))],
)
def test_what_does_not_both_read_and_write_tokens_is_left_out(prices: Made) -> None:
    assert rows(model(prices=prices)) == []


def test_a_model_of_embeddings_writes_nothing_and_has_a_price_for_it() -> None:
    embeds = model("text-embedding-3-small", prices=Made(input_mtok=D("0.02")))
    unpriced = model("text-embedding-free", prices=Made(audio_hours=D(1)))

    assert told(rows(embeds, unpriced)) == [
        {"provider": "p", "model": "text-embedding-3-small", "input": 0.02, "output": 0},
    ]


def test_each_threshold_of_any_rate_is_a_tier_of_all() -> None:
    prices = Made(
        input_mtok=tiered("1", (1000, "2"), (5000, "3")),
        output_mtok=tiered("10", (1000, "20")),
        cache_read_mtok=D("0.5"),
    )

    (row,) = told(rows(model(prices=prices)))

    assert (row["input"], row["output"], row["cache_read"]) == (1, 10, 0.5)
    assert row["tiers"] == [
        {"over": 1000, "input": 2, "output": 20, "cache_read": 0.5},
        {"over": 5000, "input": 3, "output": 20, "cache_read": 0.5},
    ]


def test_the_names_that_are_spelled_out_are_names_of_the_model() -> None:
    match = Made(
        or_=[
            equals("m-2025-01-01"),
            Made(starts_with="m-also"),
            Made(starts_with="m-2"),
            Made(starts_with="m-"),
            Made(contains="anything"),
            Made(or_=[equals("m"), equals("m-also")]),
        ]
    )

    (row,) = rows(model(match=match))

    assert row.names == ("m-2025-01-01", "m-also", "m-2")


def since(year: int, rate: str, **more: Any) -> Made:
    begins = Made(start_date=date(year, 1, 1))
    return Made(constraint=begins, prices=Made(input_mtok=D(rate), output_mtok=D(8), **more))


def always(rate: str) -> Made:
    return Made(constraint=None, prices=Made(input_mtok=D(rate), output_mtok=D(8)))


def hours(rate: str, output: str) -> Made:
    prices = Made(input_mtok=D(rate), output_mtok=D(output))
    return Made(constraint=Made(start_time=time(0), end_time=time(9)), prices=prices)


def test_prices_that_changed_are_rows_with_their_days() -> None:
    found = rows(model(prices=[always("1"), since(2027, "3"), since(2026, "2")]))

    assert [(row.since, float(row.input)) for row in found] == [
        (None, 1), (date(2026, 1, 1), 2), (date(2027, 1, 1), 3),
    ]  # fmt: skip


def test_prices_that_did_not_change_are_one_row() -> None:
    found = rows(model(prices=[always("1"), since(2026, "1"), since(2027, "2")]))

    assert [(row.since, float(row.input)) for row in found] == [(None, 1), (date(2027, 1, 1), 2)]


@pytest.mark.parametrize(("rate", "output", "expected"), [("2", "16", 2), ("0.5", "4", 1)])
def test_of_prices_by_the_hour_the_dearer_one_counts_and_says_so(
    rate: str, output: str, expected: int
) -> None:
    (row,) = rows(model(prices=[always("1"), hours(rate, output)]))

    assert (float(row.input), row.caveats) == (expected, ("peak_rate",))


def variant(when: dict[str, str], year: int | None = None, **prices: str) -> Made:
    begins = None if year is None else Made(start_date=date(year, 1, 1))
    amounts = {f"{name}_mtok": D(rate) for name, rate in prices.items()}
    return Made(when=when, constraint=begins, prices=Made(**amounts))


def test_a_mode_has_the_usual_rates_but_for_its_own() -> None:
    usual = Made(input_mtok=D(2), output_mtok=D(8), cache_read_mtok=D(1))
    modes = [
        variant({"service_tier": "default"}),
        variant({"service_tier": "flex"}, input="1"),
        variant({"processing": "batch"}, 2026, output="4"),
        variant({"speed": "fast"}, input="4", output="16"),
        variant({"search_type": "web"}, input="9"),
        variant({"service_tier": "flex", "processing": "batch"}, input="9"),
    ]

    found = rows(model(prices=usual, price_variants=modes))

    assert [(row.mode, row.since, float(row.input), float(row.output)) for row in found] == [
        ("standard", None, 2, 8),
        ("flex", None, 1, 8),
        ("batch", date(2026, 1, 1), 2, 4),
        ("fast", None, 4, 16),
    ]
    assert {row.cache_read for row in found} == {D(1)}


def test_a_mode_follows_the_usual_price_and_its_own_changes() -> None:
    prices = [always("10"), since(2026, "20")]
    flex = {"service_tier": "flex"}
    modes = [variant(flex, 2027, input="7"), variant(flex, 2025, input="5", output="4")]

    found = rows(model(prices=prices, price_variants=modes))

    ours = [row for row in found if row.mode == "flex"]
    assert [(row.since, float(row.input), float(row.output)) for row in ours] == [
        (date(2025, 1, 1), 5, 4),
        (date(2026, 1, 1), 5, 4),
        (date(2027, 1, 1), 7, 4),
    ]


def test_an_address_is_one_providers() -> None:
    found = genai.addresses([provider(), provider(name="q"), provider(name="r", pattern="r")])

    assert found == {"p": "https://p", "r": "r"}
