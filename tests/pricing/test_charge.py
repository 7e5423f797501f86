from __future__ import annotations

import pytest

from pricing.charge import CAVEATS, Charge, charge
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


def charged(usage: Usage, mode: str = "", price: Price = PRICE, at: float = 0.0) -> Charge:
    return charge(usage, price, mode, at=at)


def test_a_call_is_charged_by_the_row_that_it_names() -> None:
    assert charged(Usage(10, 1)) == Charge(200, "row", ())
    assert charged(Usage(1001, 1)) == Charge(1001 * 20 + 200, "row>1000", ())


@pytest.mark.parametrize("mode", ["", "default", "standard", "auto", "on_demand"])
def test_what_is_served_as_usual_is_charged_as_usual(mode: str) -> None:
    assert charged(Usage(10, 1), mode) == Charge(200, "row", ())


def test_what_the_provider_served_otherwise_is_charged_so() -> None:
    assert charged(Usage(10, 1), "flex") == Charge(12, "row#flex", ())
    assert charged(Usage(1001, 1), "flex") == Charge(1001 * 3 + 4, "row#flex>1000", ())


def test_a_mode_without_rates_is_charged_as_usual_and_said_to_be() -> None:
    assert charged(Usage(10, 1), "scale") == Charge(200, "row", ("service_tier_unpriced",))


def test_a_call_is_charged_by_what_held_when_it_began() -> None:
    price = Price(1, 1, name="old", until=100.0, then=Price(2, 2, name="new"))

    assert charged(Usage(10), price=price, at=99.0) == Charge(10, "old", ())
    assert charged(Usage(10), price=price, at=100.0) == Charge(20, "new", ())


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
    assert [*charged(usage, price=price).caveats] == caveats


def test_caveats_are_those_of_the_row_that_was_used() -> None:
    price = Price(1, 1, caveats=("peak_rate",), modes=(("flex", Price(1, 1)),))

    assert charged(Usage(9), "flex", price).caveats == ()


def test_each_caveat_is_explained() -> None:
    assert all(text.endswith(".") for text in CAVEATS.values())
    assert list(CAVEATS) == sorted(CAVEATS)
