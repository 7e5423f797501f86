from __future__ import annotations

import pytest
from pydantic import ValidationError

from router_service.contract import RouteQuery
from router_service.engine import Engine


def test_the_fixed_router_takes_the_first_technique_on_offer() -> None:
    query = RouteQuery(model="m", techniques=("best_of_n", "none"))

    decision = Engine("fixed").route(query)

    assert decision.technique == "best_of_n"
    assert decision.why


def test_a_query_offers_at_least_one_technique() -> None:
    with pytest.raises(ValidationError):
        RouteQuery(model="m", techniques=())


def test_an_unknown_router_is_an_error_at_once() -> None:
    with pytest.raises(KeyError):
        Engine("no such router")
