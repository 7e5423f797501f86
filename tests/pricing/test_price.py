from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cost import cost
from pricing.price import RATES, Price, costlier
from pricing.rates import PriceRecord
from pricing.usage import Usage, counted

LONG = Price(20, 200, cache_read=2)
LONGEST = Price(30, 300)
TIERED = Price(10, 100, cache_read=1, tiers=((1000, LONG), (2000, LONGEST)))


@pytest.mark.parametrize(
    ("tokens", "price"),
    [(0, TIERED), (1000, TIERED), (1001, LONG), (2000, LONG), (2001, LONGEST), (10**9, LONGEST)],
)
def test_the_size_of_the_input_chooses_the_tier(tokens: int, price: Price) -> None:
    assert TIERED.within(tokens) == price


def test_over_a_threshold_all_of_a_call_costs_the_tiers_rates() -> None:
    assert cost(Usage(1000, 5, cache_read_tokens=400), TIERED) == 600 * 10 + 400 + 5 * 100
    assert cost(Usage(1001, 5, cache_read_tokens=400), TIERED) == 601 * 20 + 400 * 2 + 5 * 200


def test_each_call_is_measured_by_its_own_input() -> None:
    call = Usage(600, 1)

    assert cost(call, TIERED) + cost(call, TIERED) == 2 * (600 * 10 + 100)
    assert cost(call + call, TIERED) == 1200 * 20 + 2 * 200


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_price_without_tiers_is_the_same_for_any_size(one: int, other: int) -> None:
    price = Price(10, 100)

    assert price.within(one) is price.within(other) is price


def test_a_mode_has_rates_of_its_own_if_any_are_known() -> None:
    fast = Price(99, 99)
    price = Price(1, 1, modes=(("priority", fast),))

    assert price.served("priority") is fast
    assert price.served("flex") is None


def test_a_price_changes_when_the_next_one_begins() -> None:
    last = Price(3, 3)
    second = Price(2, 2, until=200.0, then=last)
    first = Price(1, 1, until=100.0, then=second)

    assert [first.at(moment).input for moment in (0, 99.9, 100, 199.9, 200, 1e12)] == [
        1, 1, 2, 2, 3, 3,
    ]  # fmt: skip
    assert replace(first, then=None).at(1e12).input == 1


def test_all_parts_of_a_price_are_called_after_its_row() -> None:
    flex = Price(5, 5, tiers=((1000, Price(6, 6)),))
    price = replace(TIERED, modes=(("flex", flex),), caveats=("peak_rate",))

    called = price.called("t:p/m", "table", ("listed_by_reseller",))

    assert (called.name, called.source) == ("t:p/m", "table")
    assert called.caveats == ("peak_rate", "listed_by_reseller")
    assert [tier.name for _, tier in called.tiers] == ["t:p/m>1000", "t:p/m>2000"]
    served = called.served("flex")
    assert served is not None
    assert (served.name, served.source, served.caveats) == (
        "t:p/m#flex", "table", ("listed_by_reseller",),
    )  # fmt: skip
    assert served.within(1001).name == "t:p/m#flex>1000"


def test_pictures_are_charged_by_the_piece_and_by_their_tokens() -> None:
    usage = Usage(100, 50, image_input_tokens=30, image_output_tokens=20, images=2)

    assert cost(usage, Price(1, 2)) == 100 + 100
    assert cost(usage, Price(1, 2, image=1000, image_input=5, image_output=7)) == (
        70 + 30 * 5 + 2000 + 30 * 2 + 20 * 7
    )


def test_what_can_be_charged_for_is_what_usage_counts() -> None:
    assert {*RATES} == {
        "input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning",
        "audio_input", "audio_output", "image", "image_input", "image_output", "per_request",
    }  # fmt: skip


def test_what_is_written_in_dollars_is_kept_in_integers() -> None:
    rates = {"input": "2.5", "output": 10}
    tier = {"over": 1000, "input": 5, "output": 15}
    record = PriceRecord.model_validate(
        {**rates, "image": "0.01", "tiers": [tier], "modes": {"flex": {**rates, "tiers": [tier]}}}
    )

    long = Price(5_000_000, 15_000_000)
    flex = Price(2_500_000, 10_000_000, tiers=((1000, long),))
    assert record.price() == replace(flex, image=10**10, modes=(("flex", flex),))


@pytest.mark.parametrize(
    ("price", "other", "times"),
    [
        (Price(1, 6), Price(1, 2), 3.0),
        (None, Price(1, 2), None),
        (Price(1, 6), None, None),
        (Price(1, 6), Price(1, 0), None),
    ],
)
def test_models_are_compared_by_what_they_ask_for_output(
    price: Price | None, other: Price | None, times: float | None
) -> None:
    assert costlier(price, other) == times


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (7, 7),
        (7.9, 7),
        (0, 0),
        (-1, 0),
        (True, 0),
        (2**32, 2**32),
        (2**32 + 1, 0),
        (float("inf"), 0),
        ("7", 0),
    ],
)
def test_what_can_be_no_count_of_tokens_counts_as_none(value: object, tokens: int) -> None:
    assert counted(value) == tokens
