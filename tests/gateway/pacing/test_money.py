from __future__ import annotations

import pytest

from gateway.admission.need.value import Need
from gateway.pacing.money import most_cost
from pricing.price import Price
from techniques.core.json import Json
from techniques.core.relayed import EMBEDDING, EMBEDDINGS
from techniques.core.request import Relay, Request

NEED = Need(100, 10, 10, 20)


def relayed(body: dict[str, Json], raw: bytes = b"{}") -> Request:
    return Request("m", relay=Relay("openai_chat", raw, body, lambda: Request("m")))


@pytest.mark.parametrize(
    ("price", "most"),
    [
        (Price(1, 2), 100 + 40),
        (Price(1, 2, reasoning=5), 100 + 100),
        (Price(1, 2, image_output=9), 100 + 180),
        (Price(1, 2, cache_write=3), 100 + 40),
        (Price(1, 2, tiers=((99, Price(10, 20)),)), 1000 + 400),
        (Price(1, 2, until=1.0, then=Price(3, 4)), 300 + 80),
    ],
)
def test_a_call_holds_what_it_can_cost_at_most(price: Price, most: int) -> None:
    assert most_cost(NEED, price, relayed({})) == most


def test_a_call_that_asks_to_be_served_dearly_holds_that() -> None:
    price = Price(10, 10, modes=(("priority", Price(20, 20)), ("flex", Price(5, 5))))

    assert most_cost(NEED, price, relayed({"service_tier": "priority"})) == 120 * 20
    assert most_cost(NEED, price, relayed({"service_tier": "flex"})) == 120 * 10


def test_a_call_that_writes_to_a_cache_holds_what_that_costs() -> None:
    price = Price(1, 2, cache_write=3, cache_write_1h=5)

    assert most_cost(NEED, price, relayed({}, b'{"cache_control": 1}')) == 500 + 40


@pytest.mark.parametrize(("given", "least"), [("word " * 100, 252), ([7] * 300, 302), ("a", 100)])
def test_an_embedding_holds_no_less_than_its_size_says(given: Json, least: int) -> None:
    body = {"model": "m", "input": given}
    relay = Relay(EMBEDDINGS, b"{}", body, lambda: Request("m"))
    need = Need(100, 0, 0, 0)

    assert most_cost(need, Price(1, 0), Request("m", relay=relay, role=EMBEDDING)) == least
