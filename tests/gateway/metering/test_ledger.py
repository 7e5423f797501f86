from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.metering.caps import Caps, RunAllowance
from gateway.metering.ledger import CallRetried, Fact, Ledger, RequestBegun
from pricing.usage import Usage
from techniques.core.errors import CapReached
from techniques.core.events import Warned
from tests.gateway.metering.facts import row


def spent(*costs: int | None) -> Ledger:
    """Return a ledger of calls that cost so many picodollars."""
    ledger = Ledger()
    for cost in costs:
        ledger.record(row(cost=cost, cost_source="unknown" if cost is None else "operator"))
    return ledger


def test_the_source_of_a_sum_is_the_worst_of_its_parts() -> None:
    ledger = Ledger()
    told = [ledger.cost_source()]
    for source in ("operator", "local_power", "operator", "unknown"):
        ledger.record(row(cost_source=source))
        told.append(ledger.cost_source())

    assert told == ["operator", "operator", "local_power", "local_power", "unknown"]


def test_every_fact_reaches_every_meter_in_order() -> None:
    one: list[Fact] = []
    other: list[Fact] = []
    ledger = Ledger((one.append, other.append))
    facts: list[Fact] = [RequestBegun("openai_chat"), CallRetried("timeout"), row(), Warned("x")]

    for fact in facts:
        ledger.record(fact)

    assert one == other == facts
    assert (ledger.rows, ledger.warnings) == ([facts[2]], [facts[3]])


def test_the_same_warning_is_told_once() -> None:
    told: list[Fact] = []
    ledger = Ledger((told.append,))
    for warning in (Warned("a", "x"), Warned("a", "x"), Warned("a", "y")):
        ledger.record(warning)

    assert told == ledger.warnings == [Warned("a", "x"), Warned("a", "y")]


@given(st.lists(st.integers(0, 10**15), max_size=8))
def test_the_cost_is_exactly_the_sum_of_the_rows(costs: list[int]) -> None:
    assert spent(*costs).cost() == sum(costs)


def test_the_usage_is_the_sum_of_the_rows() -> None:
    ledger = Ledger()
    for usage in (Usage(1, 2), Usage(10, 20, cache_read_tokens=5)):
        ledger.record(row(usage=usage))

    assert ledger.usage() == Usage(11, 22, cache_read_tokens=5)


def test_one_price_that_is_unknown_makes_the_whole_unknown() -> None:
    assert (spent(5, None, 7).cost(), spent(5, None).cost_usd()) == (None, None)
    assert spent(5, None).cost_source() == "unknown"
    assert (spent(5).cost_usd(), spent(5).cost_source()) == ("0.000000000005", "operator")


def test_without_a_row_nothing_was_spent() -> None:
    assert (spent().cost(), spent().cost_usd(), spent().usage()) == (0, "0", Usage())


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Caps(), Caps(), Caps()),
        (Caps(5, 10), Caps(), Caps(5, 10)),
        (Caps(5, 10), Caps(3, 20), Caps(3, 10)),
        (Caps(None, 10), Caps(3, None), Caps(3, 10)),
        (Caps(0, 0), Caps(3, 3), Caps(0, 0)),
    ],
)
def test_of_two_caps_the_tighter_holds(one: Caps, other: Caps, both: Caps) -> None:
    assert one.tighter(other) == both
    assert other.tighter(one) == both


def test_without_caps_everything_is_affordable() -> None:
    assert RunAllowance(Caps(), spent(10**12)).affordable(1000) == 1000


def test_calls_are_counted_when_they_begin() -> None:
    allowance = RunAllowance(Caps(max_calls=3), Ledger())
    assert allowance.affordable(5) == 3

    for left in (2, 1, 0):
        allowance.take()
        assert allowance.affordable(5) == left

    with pytest.raises(CapReached):
        allowance.take()


def test_the_first_calls_count_with_what_is_expected_of_them() -> None:
    assert RunAllowance(Caps(max_cost=100), Ledger(), expected=30).affordable(4) == 3
    assert RunAllowance(Caps(max_cost=100), Ledger(), expected=101).affordable(4) == 0


def test_calls_whose_price_is_not_known_are_not_held_back_by_money() -> None:
    assert RunAllowance(Caps(max_cost=1), Ledger()).affordable(4) == 4


def test_nothing_may_be_spent_where_nothing_is_allowed() -> None:
    with pytest.raises(CapReached):
        RunAllowance(Caps(max_cost=0), Ledger()).take()


def test_money_that_is_spent_leaves_no_further_call() -> None:
    assert RunAllowance(Caps(max_cost=100), spent(60, 40)).affordable(3) == 0
    assert RunAllowance(Caps(max_cost=100), spent(150)).affordable(3) == 0


def test_money_that_is_left_is_counted_in_average_calls() -> None:
    ledger = Ledger()
    allowance = RunAllowance(Caps(max_cost=100), ledger)
    end(allowance, ledger, allowance.take(), cost=20)

    assert allowance.affordable(9) == 4


def test_what_open_calls_are_expected_to_cost_is_held() -> None:
    ledger = Ledger()
    allowance = RunAllowance(Caps(max_cost=100), ledger)
    held = [allowance.take(25) for _ in range(3)]
    end(allowance, ledger, held[0], cost=20)

    assert allowance.affordable(9) == 1
    end(allowance, ledger, held[1], cost=20)
    assert allowance.affordable(9) == 1
    end(allowance, ledger, held[2], cost=20)
    assert allowance.affordable(9) == 2


def test_a_call_that_is_dearer_than_the_others_must_fit_itself() -> None:
    ledger = Ledger()
    allowance = RunAllowance(Caps(max_cost=100), ledger)
    end(allowance, ledger, allowance.take(10), cost=10)

    with pytest.raises(CapReached, match="and the next call is expected to cost"):
        allowance.take(91)
    allowance.take(90)
    assert allowance.affordable(1) == 0


def test_calls_that_all_cost_the_same_never_exceed_the_money() -> None:
    ledger = Ledger()
    allowance = RunAllowance(Caps(max_cost=100), ledger)
    for _ in range(20):
        if not allowance.affordable(1):
            break
        end(allowance, ledger, allowance.take(), cost=30)

    assert ledger.cost() == 90


def end(allowance: RunAllowance, ledger: Ledger, held: int, cost: int) -> None:
    ledger.record(row(cost=cost))
    allowance.give_back(held)
