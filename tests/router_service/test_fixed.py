from __future__ import annotations

import pytest
from pydantic import ValidationError

from router_service.contract import Offer, RouteQuery
from router_service.engine import Engine
from router_service.settings import RouterSettings


def test_the_fixed_router_takes_the_first_arm_on_offer() -> None:
    query = RouteQuery(model="m", offers=(Offer(arm="best_of_n"), Offer(arm="none")))

    decision = Engine().decide(query)

    assert decision.arm == "best_of_n"
    assert decision.router == "fixed"
    assert decision.why


def test_a_query_offers_at_least_one_arm() -> None:
    with pytest.raises(ValidationError):
        RouteQuery(model="m", offers=())


def test_an_unknown_router_is_an_error_at_once() -> None:
    with pytest.raises(ValidationError):
        RouterSettings.model_validate({"type": "no such router"})
