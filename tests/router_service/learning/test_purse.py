from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router_service.learning.purse import Allowance, Purse

DAY = 86_400.0
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["earn", "hold", "settle"]), st.floats(0, 2), st.floats(0, 4 * 3600.0)
    ),
    max_size=60,
)


def test_there_is_nothing_to_spend_before_anything_was_earned() -> None:
    assert Purse(0.03).allowance(0.0) == Allowance(0.0, 0.0)


def test_a_share_of_what_was_earned_may_be_spent_and_what_is_held_counts() -> None:
    purse = Purse(0.5)
    purse.earn(10.0, 0.0)
    purse.hold("arm", 2.0, 1.0, expected_usd=1.0)

    assert purse.allowance(2.0) == Allowance(3.0, 5.0)
    assert purse.settle("arm", 2.5, 3.0) == 1.5
    assert purse.allowance(4.0) == Allowance(3.5, 5.0)
    assert purse.spent(4.0) == 1.5


def test_what_cost_less_than_expected_gives_nothing_back() -> None:
    purse = Purse(1.0)
    purse.earn(1.0, 0.0)
    purse.hold("arm", 0.5, 0.0, expected_usd=0.4)

    assert purse.settle("arm", 0.1, 1.0) == 0.0
    assert purse.spent(1.0) == 0.0


def test_what_was_earned_and_spent_is_forgotten_after_a_day() -> None:
    purse = Purse(1.0)
    purse.earn(3.0, 0.0)
    purse.hold("arm", 1.0, 1.0)
    purse.settle("arm", 1.0, 2.0)

    assert purse.allowance(DAY - 120).left_usd == 2.0
    assert purse.allowance(DAY + 120) == Allowance(0.0, 0.0)
    assert purse.spent(DAY + 120) == 0.0


def test_a_hold_that_nothing_comes_of_counts_as_spent() -> None:
    purse = Purse(1.0)
    purse.earn(3.0, 0.0)
    purse.hold("arm", 1.0, 0.0)

    assert purse.spent(1000.0) == 1.0
    assert purse.settle("arm", 5.0, 1001.0) == 0.0
    assert purse.settle("never held", 5.0, 1001.0) == 0.0


@given(STEPS)
def test_never_is_more_spent_than_the_share_where_costs_are_as_foretold(
    steps: list[tuple[str, float, float]],
) -> None:
    purse, now, share = Purse(0.1), 0.0, 0.1
    earned = spent = 0.0
    held: list[float] = []
    for what, usd, wait in steps:
        now += wait
        if what == "earn":
            purse.earn(usd, now)
            earned += usd
        elif what == "hold" and usd <= purse.allowance(now).left_usd:
            purse.hold("arm", usd, now)
            held.append(usd)
            spent += usd
        elif what == "settle" and held:
            purse.settle("arm", held.pop(0), now)
        assert spent <= share * earned + 1e-9


def test_many_processes_stay_within_the_share_of_what_all_cost() -> None:
    random = Random(3)
    purses = [Purse(0.03) for _ in range(8)]
    earned = spent = 0.0
    for step in range(20_000):
        purse, now = random.choice(purses), step * 2.0
        cost = random.expovariate(100)
        purse.earn(cost, now)
        earned += cost
        extra = random.expovariate(20)
        if extra <= purse.allowance(now).left_usd:
            purse.hold("arm", extra, now)
            spent += purse.settle("arm", extra, now + 1)

    assert 0.5 * 0.03 * earned < spent <= 0.03 * earned


def test_sums_do_not_drift_over_many_days() -> None:
    purse = Purse(1.0)
    for minute in range(5 * 1440):
        purse.earn(0.1, minute * 60.0)

    assert purse.allowance(5 * DAY).total_usd == pytest.approx(1439 * 0.1, abs=0.11)
