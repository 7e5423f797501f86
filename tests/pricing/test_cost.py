from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cost import cost, dollars
from pricing.price import Price, per_million
from pricing.usage import Usage

COUNTS = st.integers(0, 10**9)
PLAIN = Price(input=3, output=15)


def test_input_and_output_have_their_own_rates() -> None:
    assert cost(Usage(input_tokens=10, output_tokens=4), PLAIN) == 10 * 3 + 4 * 15


@pytest.mark.parametrize(
    ("usage", "price", "expected"),
    [
        (Usage(100, cache_read_tokens=40), Price(10, 0, cache_read=1), 60 * 10 + 40),
        (Usage(100, cache_write_tokens=40), Price(10, 0, cache_write=12), 60 * 10 + 40 * 12),
        (Usage(100, cache_write_1h_tokens=40), Price(10, 0, cache_write_1h=20), 600 + 800),
        (Usage(100, audio_input_tokens=5), Price(10, 0, audio_input=100), 950 + 500),
        (Usage(0, 50, reasoning_tokens=20), Price(0, 2, reasoning=3), 60 + 60),
        (Usage(0, 50, audio_output_tokens=20), Price(0, 2, audio_output=9), 60 + 180),
    ],
    ids=["cache read", "cache write", "cache write 1h", "audio in", "reasoning", "audio out"],
)
def test_a_part_with_a_rate_of_its_own_is_charged_once_at_that_rate(
    usage: Usage, price: Price, expected: int
) -> None:
    assert cost(usage, price) == expected


def test_a_rate_of_zero_is_free_and_not_unknown() -> None:
    assert cost(Usage(100, cache_read_tokens=100), Price(10, 0, cache_read=0)) == 0


def test_an_hours_cache_write_costs_what_a_five_minutes_one_does_unless_said() -> None:
    assert cost(Usage(10, cache_write_1h_tokens=10), Price(1, 0, cache_write=7)) == 70


def test_parts_without_a_rate_cost_what_the_whole_does() -> None:
    parts = Usage(
        100,
        50,
        cache_read_tokens=10,
        cache_write_tokens=20,
        cache_write_1h_tokens=30,
        reasoning_tokens=15,
        audio_input_tokens=5,
        audio_output_tokens=25,
    )

    assert cost(parts, PLAIN) == cost(Usage(100, 50), PLAIN)


def test_parts_larger_than_the_whole_never_make_the_rest_negative() -> None:
    assert cost(Usage(10, 0, cache_read_tokens=50), Price(10, 10, cache_read=1)) == 50
    assert cost(Usage(0, 10, reasoning_tokens=50), Price(10, 10, reasoning=1)) == 50


def test_each_call_is_charged_for_being_made() -> None:
    assert cost(Usage(), Price(1, 1, per_request=77)) == 77


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_cost_of_a_sum_is_the_sum_of_the_costs(a: int, b: int, c: int, d: int) -> None:
    one, other = Usage(a + c, b, cache_read_tokens=c), Usage(c + d, d, cache_write_tokens=d)
    price = Price(3, 15, cache_read=1, cache_write=4)

    assert cost(one + other, price) == cost(one, price) + cost(other, price)


def test_usages_add_up_field_by_field() -> None:
    names = [field.name for field in fields(Usage) if field.name != "faulty"]

    def times(number: int) -> Usage:
        counts: dict[str, Any] = {name: number * (n + 1) for n, name in enumerate(names)}
        return Usage(**counts)

    assert times(1) + times(10) == times(11)


@pytest.mark.parametrize(("one", "other"), [(True, False), (False, True), (True, True)])
def test_a_sum_with_a_fault_in_it_has_one(*, one: bool, other: bool) -> None:
    assert (Usage(1, faulty=one) + Usage(2, faulty=other)).faulty
    assert not (Usage(1) + Usage(2)).faulty


def test_the_total_is_input_and_output() -> None:
    assert Usage(3, 4, cache_read_tokens=2, reasoning_tokens=1).total_tokens == 7


def test_a_dollar_a_million_tokens_is_a_million_picodollars_a_token() -> None:
    price = per_million({"input": Decimal("0.15"), "output": Decimal("0.60"), "cache_read": None})

    assert price == Price(input=150_000, output=600_000)


def test_a_rate_per_request_is_in_dollars() -> None:
    rates = {"input": Decimal(0), "output": Decimal(0), "per_request": Decimal("0.005")}

    assert per_million(rates).per_request == 5 * 10**9


def test_a_million_tokens_cost_exactly_the_list_price() -> None:
    price = per_million({"input": Decimal("0.075"), "output": Decimal("0.3")})

    assert dollars(cost(Usage(input_tokens=1_000_000), price)) == "0.075"
    assert dollars(cost(Usage(output_tokens=1_000_000), price)) == "0.3"


@pytest.mark.parametrize("rates", [{"input": 1}, {"input": 1, "output": 1, "no_such_rate": 1}])
def test_rates_that_make_no_price_are_refused(rates: dict[str, int]) -> None:
    with pytest.raises(TypeError):
        per_million({name: Decimal(rate) for name, rate in rates.items()})


@pytest.mark.parametrize(
    ("picodollars", "text"),
    [
        (0, "0"),
        (1, "0.000000000001"),
        (10**12, "1"),
        (1_500_000_000_000, "1.5"),
        (123 * 10**12 + 10**10, "123.01"),
    ],
)
def test_dollars_are_written_without_rounding(picodollars: int, text: str) -> None:
    assert dollars(picodollars) == text


@given(st.integers(0, 10**30))
def test_dollars_read_back_are_the_same_amount(picodollars: int) -> None:
    written = dollars(picodollars)

    assert "e" not in written
    whole, _, rest = written.partition(".")
    assert int(whole) * 10**12 + int(rest.ljust(12, "0") or 0) == picodollars
