from __future__ import annotations

from itertools import combinations_with_replacement
from typing import get_args

import pytest

from pricing.source import SOURCES, TIERS, CostSource, PriceSource, tier, worst, worst_tier


def test_what_was_charged_is_the_best_known_and_what_has_no_price_the_least() -> None:
    assert ("provider", *get_args(PriceSource), "unknown") == SOURCES
    assert SOURCES[1] == "operator"


@pytest.mark.parametrize(("one", "other"), [*combinations_with_replacement(SOURCES, 2)])
def test_a_sum_is_known_no_better_than_the_worst_of_it(one: CostSource, other: CostSource) -> None:
    assert worst([one, other]) == worst([other, one]) == other


def test_nothing_was_spent_and_that_is_certain() -> None:
    assert worst([]) == "operator"
    assert worst_tier([]) == "exact_user_rate"


def test_the_tiers_keep_the_order_of_the_sources() -> None:
    places = [TIERS.index(tier(source, estimated=False, thinking=False)) for source in SOURCES]

    assert places == sorted(places)
    assert len({*places}) == len(SOURCES) - 1  # what power costs is stated by the operator too


@pytest.mark.parametrize("source", [source for source in SOURCES if source != "unknown"])
def test_guessed_tokens_count_for_more_than_where_the_price_came_from(source: CostSource) -> None:
    assert tier(source, estimated=True, thinking=False) == "tokens_estimated_from_chars"
    assert tier(source, estimated=True, thinking=True) == "tokens_estimated_with_thinking_chars"
    assert tier(source, estimated=False, thinking=True) == tier(
        source, estimated=False, thinking=False
    )


def test_what_has_no_price_is_unknown_however_its_tokens_were_counted() -> None:
    assert tier("unknown", estimated=True, thinking=True) == "unknown"
    assert worst_tier(["tokens_estimated_with_thinking_chars", "unknown"]) == "unknown"
