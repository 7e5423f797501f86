"""agentpause's forecast, step by step: A-66 to A-70."""

from __future__ import annotations

from gateway.admission.legacy.decision import Budget
from gateway.forecast.point import Route, simulate


def test_what_fits_is_summed_up_without_a_pause() -> None:
    point = simulate(Budget(10_000, 10_000, reset_seconds=60), Route(5, 600))

    assert (point.steps, point.tokens, point.waits, point.suspensions) == (5, 3000, 0, 0)
    assert point.fits is None


def test_a_bucket_is_waited_for_by_its_own_rate_and_a_little_more() -> None:
    route = Route(3, 400, wait_threshold_s=60)

    point = simulate(Budget(1000, 1000, reset_seconds=60), route)

    assert (point.steps, point.waits, point.suspensions) == (3, 1, 0)
    assert round(point.waiting_s, 9) == 17.25
    assert point.wall_s == point.waiting_s


def test_what_came_back_while_waiting_is_there_for_the_steps_after_it() -> None:
    budget = Budget(1000, 1000, reset_seconds=60)

    four = simulate(budget, Route(4, 400, wait_threshold_s=60))

    # 430 were there after the first wait, so 30 are left: 370 more, at 970 in 60 s, by 1.15
    assert round(four.waiting_s - 17.25, 6) == round(370 / (970 / 60) * 1.15, 6)


def test_a_fixed_window_is_waited_for_whole_and_that_is_a_suspension() -> None:
    budget = Budget(1000, 1000, reset_seconds=30, refill_regime="fixed")

    point = simulate(budget, Route(5, 400))

    assert (point.steps, point.waits, point.suspensions, point.waiting_s) == (5, 0, 2, 60)


def test_a_fixed_window_within_the_threshold_is_a_wait() -> None:
    budget = Budget(1000, 1000, reset_seconds=10, refill_regime="fixed")

    point = simulate(budget, Route(5, 400))

    assert (point.waits, point.suspensions, point.waiting_s) == (2, 0, 20)


def test_a_step_of_nearly_the_whole_window_is_a_wall_once_it_stalls() -> None:
    point = simulate(Budget(1000, 1000, reset_seconds=60), Route(5, 980))

    assert (point.steps, point.tokens, point.context_wall) == (1, 980, True)


def test_a_step_larger_than_the_window_is_a_wall_at_once() -> None:
    point = simulate(Budget(1000, 1000, reset_seconds=60), Route(5, 1001, deadline_s=60))

    assert (point.steps, point.context_wall, point.fits) == (0, True, False)


def test_a_deadline_is_kept_or_missed_by_work_and_waiting_together() -> None:
    budget = Budget(10_000, 10_000, reset_seconds=60)

    ten = simulate(budget, Route(4, 100, seconds=2, deadline_s=10))
    seven = simulate(budget, Route(4, 100, seconds=2, deadline_s=7))

    assert (ten.wall_s, ten.fits, seven.fits) == (8, True, False)


def test_where_nobody_knows_when_the_window_is_full_it_ends() -> None:
    point = simulate(Budget(1000, 1000), Route(5, 400))

    assert (point.steps, point.waiting_s, point.context_wall) == (2, 0, False)


def test_the_same_question_has_the_same_answer() -> None:
    budget, route = Budget(1000, 1000, reset_seconds=60), Route(9, 400, seconds=1)

    assert simulate(budget, route) == simulate(budget, route)
