from __future__ import annotations

import pytest

from pricing.charge import CAVEATS, Charge, charge, charged
from pricing.cost import MOST
from pricing.price import Price
from pricing.usage import Usage

FLEX = Price(1, 2, name="row#flex", tiers=((1000, Price(3, 4, name="row#flex>1000")),))
PRICE = Price(
    10,
    100,
    name="row",
    tiers=((1000, Price(20, 200, name="row>1000")),),
    modes=(("flex", FLEX),),
)


def owed(usage: Usage, mode: str = "", price: Price = PRICE, at: float = 0.0) -> Charge:
    return charge(usage, price, mode, at=at)


def test_a_call_is_charged_by_the_row_that_it_names() -> None:
    assert owed(Usage(10, 1)) == Charge(200, "row", "operator")
    assert owed(Usage(1001, 1)) == Charge(1001 * 20 + 200, "row>1000", "operator")


@pytest.mark.parametrize("mode", ["", "default", "standard", "auto", "on_demand"])
def test_what_is_served_as_usual_is_charged_as_usual(mode: str) -> None:
    assert owed(Usage(10, 1), mode) == Charge(200, "row", "operator")


def test_what_the_provider_served_otherwise_is_charged_so() -> None:
    assert owed(Usage(10, 1), "flex") == Charge(12, "row#flex", "operator")
    assert owed(Usage(1001, 1), "flex") == Charge(1001 * 3 + 4, "row#flex>1000", "operator")


def test_a_mode_without_rates_is_charged_as_usual_and_said_to_be() -> None:
    assert owed(Usage(10, 1), "scale") == Charge(200, "row", "operator", ("service_tier_unpriced",))


def test_a_call_is_charged_by_what_held_when_it_began() -> None:
    price = Price(1, 1, name="old", until=100.0, then=Price(2, 2, name="new"))

    assert owed(Usage(10), price=price, at=99.0) == Charge(10, "old", "operator")
    assert owed(Usage(10), price=price, at=100.0) == Charge(20, "new", "operator")


@pytest.mark.parametrize(
    ("usage", "price", "caveats"),
    [
        (Usage(9, cache_read_tokens=1), Price(1, 1), ["cache_read_at_input_rate"]),
        (Usage(9, cache_read_tokens=1), Price(1, 1, cache_read=0), []),
        (Usage(9, cache_write_tokens=1), Price(1, 1), ["cache_write_at_input_rate"]),
        (Usage(9, cache_write_tokens=1), Price(1, 1, cache_write=0), []),
        (Usage(9, cache_write_1h_tokens=1), Price(1, 1), ["cache_write_at_input_rate"]),
        (Usage(9, cache_write_1h_tokens=1), Price(1, 1, cache_write=2),
         ["cache_write_1h_at_5m_rate"]),
        (Usage(9, cache_write_1h_tokens=1), Price(1, 1, cache_write_1h=2), []),
        (Usage(9, audio_input_tokens=1), Price(1, 1, audio_output=2), ["audio_at_text_rate"]),
        (Usage(9, 9, audio_output_tokens=1), Price(1, 1, audio_input=2), ["audio_at_text_rate"]),
        (Usage(9, 9, audio_input_tokens=1, audio_output_tokens=1),
         Price(1, 1, audio_input=2, audio_output=2), []),
        (Usage(9, 9, image_output_tokens=1), Price(1, 1), ["image_at_text_rate"]),
        (Usage(9, 9, image_output_tokens=1), Price(1, 1, image_output=1), []),
        (Usage(9, 9, image_input_tokens=1, reasoning_tokens=9), Price(1, 1), []),
        (Usage(9), Price(1, 1, caveats=("peak_rate",)), ["peak_rate"]),
    ],
)  # fmt: skip
def test_what_the_row_has_no_rate_for_is_said(
    usage: Usage, price: Price, caveats: list[str]
) -> None:
    assert [*owed(usage, price=price).caveats] == caveats


def test_caveats_are_those_of_the_row_that_was_used() -> None:
    price = Price(1, 1, caveats=("peak_rate",), modes=(("flex", Price(1, 1)),))

    assert owed(Usage(9), "flex", price).caveats == ()


USED = Usage(10, 1)
LISTED = Price(10, 100, source="table", name="listed", per_request=7)


def test_what_a_provider_says_that_a_call_costs_counts_before_a_list() -> None:
    assert charged(USED, LISTED, told=5, at=0) == Charge(5, "provider", "provider")
    assert charged(USED, None, told=0, at=0) == Charge(0, "provider", "provider")


def test_what_the_operator_states_counts_before_what_a_provider_says() -> None:
    home = Price(1, 1, source="local_power", name="home")

    assert charged(USED, PRICE, told=5, at=0) == Charge(200, "row", "operator")
    assert charged(USED, home, told=5, at=0) == Charge(11, "home", "local_power")


def test_without_a_price_a_cost_is_not_known() -> None:
    assert charged(USED, None, at=0) is None
    assert charged(Usage(), None, at=0) is None


def test_a_call_that_used_nothing_costs_nothing() -> None:
    assert charged(Usage(), LISTED, at=0) == Charge(0, "listed", "table")
    assert charged(USED, LISTED, at=0) == Charge(207, "listed", "table")


def test_each_caveat_is_explained() -> None:
    assert all(text.endswith(".") for text in CAVEATS.values())
    assert list(CAVEATS) == sorted(CAVEATS)


@pytest.mark.parametrize(("told", "cost"), [(MOST - 1, MOST - 1), (MOST, MOST), (2**70, MOST)])
def test_what_a_provider_says_is_no_more_than_any_call_costs(told: int, cost: int) -> None:
    found = charged(Usage(1, 1), None, told=told, at=0.0)

    assert found == Charge(cost, "provider", "provider")
