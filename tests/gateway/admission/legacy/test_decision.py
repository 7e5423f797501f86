from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.admission.legacy.decision import (
    Budget,
    Caution,
    Decision,
    Estimate,
    Money,
    decide,
    nap,
    refill_wait,
    risk_score,
)

CALL = Estimate(1200)
SHORT = Budget(500, limit_tokens=10_000)
BUCKET = Budget(1000, limit_tokens=6000, reset_seconds=50)
IDLE = Budget(100_000, remaining_requests=0)
SPLIT = Budget(100_000, remaining_input_tokens=5000, remaining_output_tokens=5000)


def verdict(decision: Decision) -> tuple[str, float | None]:
    """Return what is to be done, and for how long."""
    return decision.action, decision.wait_seconds


def test_what_fits_goes_on_and_tells_by_what_figures() -> None:
    budget = Budget(10_000)

    decision = decide(budget, Estimate(1200, sigma=40))

    assert decision == Decision("continue", None, budget, 1200, 40)


@pytest.mark.parametrize(
    ("reset", "expected"),
    [(45, ("checkpoint", None)), (5, ("wait", 5)), (None, ("checkpoint", None))],
)
def test_what_does_not_fit_waits_only_for_what_comes_soon(
    reset: float | None, expected: tuple[str, float | None]
) -> None:
    budget = replace(SHORT, limit_tokens=None, reset_seconds=reset)

    assert verdict(decide(budget, CALL)) == expected


@pytest.mark.parametrize(
    ("tokens_s", "requests_s", "expected"),
    [
        (45, None, ("checkpoint", None)),
        (3, None, ("wait", 3)),
        (45, 4, ("wait", 4)),
        (45, 0, ("wait", 0)),
    ],
)
def test_without_requests_their_own_clock_tells_or_that_of_tokens(
    tokens_s: float, requests_s: float | None, expected: tuple[str, float | None]
) -> None:
    budget = replace(IDLE, reset_seconds=tokens_s, reset_requests_seconds=requests_s)

    assert verdict(decide(budget, CALL)) == expected


@pytest.mark.parametrize(("left", "action"), [(1, "wait"), (2, "continue"), (None, "continue")])
def test_a_margin_of_requests_is_left_unused(left: int | None, action: str) -> None:
    budget = replace(IDLE, remaining_requests=left, reset_seconds=3)

    assert decide(budget, CALL, Caution(rpm_margin=1)).action == action


def test_more_deviations_stop_earlier_and_none_is_a_comparison() -> None:
    budget = Budget(1300)

    assert decide(budget, Estimate(1200, 50), Caution(k=2)).action == "continue"
    assert decide(budget, Estimate(1200, 50), Caution(k=3)).action == "checkpoint"
    assert decide(budget, Estimate(1300, 0), Caution(k=99)).action == "continue"
    assert decide(budget, Estimate(1301, 0), Caution(k=99)).action == "checkpoint"


def test_a_bucket_is_waited_for_until_it_holds_enough() -> None:
    assert verdict(decide(BUCKET, Estimate(2000))) == ("wait", 11.5)


def test_no_wait_is_longer_than_until_the_bucket_is_full() -> None:
    budget = replace(BUCKET, remaining_tokens=0)

    assert verdict(decide(budget, Estimate(5800), Caution(wait_threshold_s=60))) == ("wait", 50)


def test_a_bucket_that_takes_long_is_not_waited_for() -> None:
    assert verdict(decide(BUCKET, Estimate(5000))) == ("checkpoint", None)


def test_nearly_the_whole_window_is_never_waited_for() -> None:
    budget = Budget(5800, limit_tokens=6000, reset_seconds=0.4)

    assert decide(budget, Estimate(5880)).action == "checkpoint"
    assert decide(budget, Estimate(5879)).action == "wait"


def test_a_fixed_window_is_waited_for_to_its_end() -> None:
    budget = replace(BUCKET, reset_seconds=12, refill_regime="fixed")

    assert verdict(decide(budget, Estimate(2000))) == ("wait", 12)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (replace(SPLIT, remaining_input_tokens=10), "checkpoint"),
        (replace(SPLIT, remaining_output_tokens=10), "checkpoint"),
        (replace(SPLIT, remaining_output_tokens=10, reset_seconds=5), "wait"),
        (replace(SPLIT, remaining_input_tokens=None, remaining_output_tokens=None), "continue"),
        (SPLIT, "continue"),
    ],
)
def test_input_and_output_may_run_out_each_by_itself(budget: Budget, expected: str) -> None:
    assert decide(budget, Estimate(1200, input=600, output=600)).action == expected


def test_an_estimate_without_parts_is_not_held_against_them() -> None:
    assert decide(replace(SPLIT, remaining_input_tokens=0), CALL).action == "continue"


@pytest.mark.parametrize(
    ("latency", "left", "expected"),
    [
        (10, 5, "checkpoint"),
        (10, 20, "continue"),
        (None, -1, "continue"),
        (10, None, "continue"),
    ],
)
def test_what_takes_longer_than_there_is_time_is_not_begun(
    latency: float | None, left: float | None, expected: str
) -> None:
    budget = Budget(10_000, remaining_seconds=left)

    assert decide(budget, Estimate(1200, latency_s=latency)).action == expected


def test_a_wait_is_slept_in_parts_and_ends_when_the_bucket_is_back() -> None:
    readings = [replace(BUCKET, remaining_tokens=left) for left in (1000, 1500, 3000)]
    caution = Caution(wait_threshold_s=60)
    naps = []

    for budget in readings:
        decision = decide(budget, Estimate(2500), caution)
        if decision.wait_seconds is None:
            break
        naps.append(nap(decision.wait_seconds))

    assert naps == [10.5, 10.5]


def test_a_short_wait_is_slept_at_once() -> None:
    assert nap(3) == 3.5


def test_what_costs_too_much_is_not_waited_for() -> None:
    money = Money(budget=1.0, per_1k=0.5)
    budget = Budget(100_000, reset_seconds=1)

    assert decide(budget, CALL, money=money).action == "continue"
    assert decide(budget, CALL, money=money.after(1000)).action == "checkpoint"
    assert decide(budget, CALL).action == "continue"


def test_risk_rises_as_the_budget_shrinks_and_survives_its_end() -> None:
    scores = [risk_score(1000, left, 0.5, 0.1) for left in (100_000, 2000, 1000, 0)]

    assert scores == sorted(scores)
    assert len(set(scores)) == 4


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(1000, limit_tokens=1000, reset_seconds=9), 9),
        (Budget(0, limit_tokens=1000, reset_seconds=0), 0),
        (Budget(5000, limit_tokens=6000, reset_seconds=9), 0.5),
        (Budget(0, reset_seconds=9), 9),
        (Budget(0, limit_tokens=6000), None),
    ],
    ids=["no rate", "no time", "no deficit", "no limit", "no clock"],
)
def test_a_wait_without_figures_is_until_the_window_is_full(
    budget: Budget, expected: float | None
) -> None:
    assert refill_wait(budget, 2000) == expected
