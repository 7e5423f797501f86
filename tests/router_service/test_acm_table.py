from __future__ import annotations

import pytest
from pydantic import ValidationError

from router_service.contract import Offer, RouteDecision, RouteQuery
from router_service.engine import Engine
from router_service.settings import RouterSettings
from tests.router_service.rows import features, query, row

ROWS = [
    {
        "name": "sums",
        "technique": "self_consistency",
        "params": {"num_samples": 5},
        "when": {"category": "reasoning", "tokens_below": 500},
    },
    {"name": "tools", "technique": "baseline", "model": "smart", "when": {"has_tools": True}},
    {"name": "easy", "technique": "baseline", "difficulty_range": [0, 0.5]},
    {"name": "hard", "technique": "best_of_n", "difficulty_range": [0.5, 1]},
]
ARMS = ("none", "self_consistency", "none/-/smart", "acm")


def settings(*rows: object) -> RouterSettings:
    return RouterSettings.model_validate({"type": "acm_table", "acm_table": {"rows": rows}})


def decided(asked: RouteQuery, *rows: object) -> RouteDecision:
    return Engine(settings(*rows)).decide(asked)


def test_the_first_row_that_is_for_a_request_decides() -> None:
    reasoning = decided(query(*ARMS, features=features(category="reasoning", tokens=499)), *ROWS)
    tools = decided(query(*ARMS, features=features(tools=True)), *ROWS)

    assert reasoning.arm == "self_consistency"
    assert reasoning.params == {"num_samples": 5}
    assert "sums" in reasoning.why
    assert tools.arm == "none/-/smart"
    assert tools.params == {}


def test_where_it_depends_on_how_hard_a_question_is_that_is_found_out_first() -> None:
    found = decided(query(*ARMS, features=features(category="reasoning", tokens=500)), *ROWS)

    assert found.arm == "acm"
    assert [each["technique"] for each in found.params["table"]] == ["baseline", "best_of_n"]
    assert found.params["table"][1]["difficulty_range"] == [0.5, 1.0]


def test_without_rows_the_technique_goes_by_its_own_table() -> None:
    found = decided(query(*ARMS))

    assert found.arm == "acm"
    assert found.params == {}


def test_a_row_whose_arm_is_masked_or_not_on_offer_is_passed_over() -> None:
    asked = query("none", "acm", features=features(category="reasoning"))
    masked = Offer(arm="self_consistency", masked="tools")

    absent = decided(asked, *ROWS)
    hidden = decided(asked.model_copy(update={"offers": (*asked.offers, masked)}), *ROWS)

    assert absent.arm == hidden.arm == "acm"
    assert hidden.masked == {"self_consistency": "tools"}


def test_where_no_row_fits_nothing_is_changed() -> None:
    found = decided(query("best_of_n", "none"), *ROWS[:2])

    assert found.arm == "best_of_n"


def test_rows_that_leave_a_gap_are_refused_at_once() -> None:
    with pytest.raises(ValidationError, match=r"0\.5"):
        settings({"name": "easy", "technique": "baseline", "difficulty_range": [0, 0.5]})


def test_the_arms_that_must_be_on_offer_are_named() -> None:
    assert settings(*ROWS).acm_table.arms == ("self_consistency", "none/-/smart", "acm")
    assert settings().acm_table.arms == ("acm",)


def test_a_table_learns_nothing() -> None:
    engine = Engine(settings(*ROWS))
    before = engine.scorer

    engine.learn([row("a", "acm", 0.3)])

    assert engine.scorer is before
