"""A-80: the price of a token on a machine of one's own."""

from __future__ import annotations

from decimal import Decimal

import pytest

from pricing.cost import cost
from pricing.local_power import hourly_of_power, local_price, per_1k
from pricing.usage import Usage


def test_an_hour_costs_its_kilowatt_hours() -> None:
    assert hourly_of_power(Decimal(350), Decimal("0.30")) == Decimal("0.105")


def test_a_thousand_tokens_cost_the_time_that_they_take() -> None:
    assert per_1k(Decimal("0.36"), Decimal(50)) == Decimal("0.002")


@pytest.mark.parametrize("hourly", [0, Decimal("0.0")])
def test_what_costs_nothing_an_hour_costs_nothing_a_token(hourly: Decimal) -> None:
    assert per_1k(Decimal(hourly), Decimal(50)) == 0
    assert hourly_of_power(Decimal(350), Decimal(0)) == 0


@pytest.mark.parametrize("tokens_per_s", [0, -1])
def test_a_machine_that_makes_no_tokens_has_no_price(tokens_per_s: int) -> None:
    with pytest.raises(ValueError, match="tokens_per_s"):
        per_1k(Decimal(1), Decimal(tokens_per_s))


def test_an_hour_that_costs_less_than_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="hourly_usd"):
        per_1k(Decimal(-1), Decimal(50))


@pytest.mark.parametrize(
    ("watts", "usd_per_kwh", "named"),
    [(0, 1, "watts"), (-1, 1, "watts"), (1, -1, "usd_per_kwh")],
)
def test_power_of_nothing_and_prices_below_nothing_are_refused(
    watts: int, usd_per_kwh: int, named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        hourly_of_power(Decimal(watts), Decimal(usd_per_kwh))


def test_tokens_that_are_read_have_a_pace_of_their_own_and_remembered_ones_are_free() -> None:
    price = local_price(Decimal("0.36"), Decimal(50), Decimal(500))

    assert (price.input, price.output, price.source) == (200_000, 2_000_000, "local_power")
    assert cost(Usage(1000, 10, cache_read_tokens=900), price) == 100 * 200_000 + 10 * 2_000_000


def test_without_a_pace_of_their_own_tokens_that_are_read_cost_as_written_ones() -> None:
    price = local_price(Decimal("0.36"), Decimal(50))

    assert price.input == price.output
