"""Who spends, what has no price, and how budgets stand."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from gateway.metering.facts import MoneyMet
from gateway.metering.meters.money import Fullest, MoneyMeter
from tests.gateway.metering.counting import Counts
from tests.gateway.metering.facts import request, row

DOLLAR = 10**12


def counts() -> Counts:
    return Counts(lambda registry: MoneyMeter(registry, [("fast", "oa")], ["research"]))


@pytest.mark.parametrize(
    ("key", "team", "name"),
    [
        (None, None, "none"),
        ("SECRET", None, "no_team"),
        ("SECRET", "research", "research"),
        ("SECRET", "MADE-UP", "other"),
    ],
)
def test_money_is_counted_by_the_class_of_the_key(
    key: str | None, team: str | None, name: str
) -> None:
    rows = (row(cost=DOLLAR), row(cost=2 * DOLLAR, cost_source="local_power"), row(cost=None))

    counted = counts().of(request(key=key, team=team, rows=rows))

    assert counted.value("class_cost_usd_total", key_class=name, source="operator") == 1
    assert counted.value("class_cost_usd_total", key_class=name) == 3
    assert counted.value("class_cost_usd_total") == 3


def test_a_call_without_a_price_is_counted() -> None:
    counted = counts()
    assert counted.value("price_unknown_total", model="fast") == 0

    counted.of(row(cost=None, cost_source="unknown"), row(cost=0))

    assert counted.value("price_unknown_total", model="fast", provider="oa") == 1


def test_what_was_held_is_compared_with_what_it_cost() -> None:
    counted = counts().of(MoneyMet("fast", 300, 100), MoneyMet("fast", 300, 0))

    assert counted.value("lease_ratio_count", model="fast") == 1
    assert counted.value("lease_ratio_sum") == 3


def test_of_each_kind_of_budget_the_fullest_is_shown_until_it_is_gone() -> None:
    shown: list[MoneyMeter] = []

    def made(registry: CollectorRegistry) -> MoneyMeter:
        shown.append(MoneyMeter(registry, [], []))
        return shown[0]

    counted = Counts(made)
    shown[0].budgets({("team", "month"): Fullest(0.9, 1.8)})
    assert counted.value("budget_used_ratio", scope="team", period="month") == 0.9
    assert counted.value("budget_pace_ratio") == 1.8

    shown[0].budgets({})
    assert counted.value("budget_used_ratio") == 0
