"""The circuit breaker, on numbers alone."""

from __future__ import annotations

import pytest

from gateway.admission.health import Health


def shut(at: float = 0.0) -> Health:
    health = Health()
    for _ in range(5):
        health.failed(at)
    return health


def test_five_failures_in_a_row_shut_it_for_ten_seconds() -> None:
    health = Health()
    for _ in range(4):
        health.failed(0)
    assert health.gate(0) == "open"

    health.failed(0)

    assert [health.gate(now) for now in (0, 9.9, 10)] == ["shut", "shut", "probe"]
    assert health.left_s(4) == 6


def test_a_success_between_begins_the_count_anew() -> None:
    health = Health()
    for _ in range(4):
        health.failed(0)
    health.succeeded()
    for _ in range(4):
        health.failed(0)

    assert health.gate(0) == "open"


def test_while_one_probes_nobody_else_goes() -> None:
    health = shut()
    health.probe()

    assert health.gate(10) == "shut"


def test_a_probe_that_is_answered_opens_it_whole() -> None:
    health = shut()
    health.probe()
    health.succeeded()

    assert health.gate(10) == "open"
    for _ in range(4):
        health.failed(10)
    assert health.gate(10) == "open"


def test_each_probe_that_fails_doubles_the_time_up_to_five_minutes() -> None:
    health, now, times = shut(), 10.0, []
    for _ in range(7):
        health.probe()
        health.failed(now)
        times.append(health.left_s(now))
        now += times[-1]

    assert times == [20, 40, 80, 160, 300, 300, 300]


def test_a_probe_that_was_not_made_leaves_the_turn_to_another() -> None:
    health = shut()
    health.probe()
    health.withdraw()

    assert health.gate(10) == "probe"


def test_every_second_call_failing_shuts_it_too_but_not_before_twenty() -> None:
    health = Health()
    pattern = [True, True, False]
    for place in range(19):
        health.failed(0) if pattern[place % 3] else health.succeeded()
    assert health.gate(0) == "open"

    for place in range(19, 40):
        health.failed(0) if pattern[place % 3] else health.succeeded()

    assert health.gate(0) == "shut"


def test_after_an_overload_others_are_asked_rather_and_it_is_no_failure() -> None:
    health = Health()
    for _ in range(9):
        health.overloaded(0)

    assert health.gate(0) == "open"
    assert [health.left_s(now) for now in (0, 4, 5)] == [5, 1, 0]


def test_without_a_limit_it_is_never_shut() -> None:
    health = Health(0)
    for _ in range(50):
        health.failed(0)
    health.overloaded(0)

    assert (health.gate(0), health.left_s(0)) == ("open", 0)


def test_the_last_that_could_be_asked_is_asked_by_one_at_a_time_while_it_is_shut() -> None:
    health = shut()

    assert (health.gate(1), health.gate(1, last=True)) == ("shut", "probe")
    health.probe()
    assert health.gate(1, last=True) == "shut"
    health.failed(1)
    assert (health.gate(9.9), health.gate(10)) == ("shut", "probe")  # no longer than before
    health.probe()
    health.succeeded()
    assert health.gate(1) == "open"


@pytest.mark.parametrize("now", [1.0, 10.0])
def test_an_answer_to_the_probe_that_has_begun_lets_others_go_who_have_no_other(now: float) -> None:
    """It may be streamed for minutes."""
    health = shut()
    health.began()  # an answer to an earlier call tells nothing of this one
    health.probe()
    assert health.gate(now, last=True) == "shut"
    health.began()

    assert (health.gate(now, last=True), health.gate(now)) == ("open", "shut")
    health.failed(now)
    assert health.gate(now) == "shut"
    health.probe()
    assert health.gate(now, last=True) == "shut"


def test_a_limit_whose_word_is_in_vain_three_times_is_no_window() -> None:
    health = Health()
    told = []
    for now in (0.0, 0.1, 0.5, 5.0, 5.1, 10.0):
        health.refused(now, 5.0)
        told.append(health.is_no_window(now))

    assert told == [False] * 5 + [True]
    health.began()
    health.refused(10.5, 5.0)
    assert not health.is_no_window(60)


def test_many_short_refusals_are_one_only_after_ten_seconds() -> None:
    health = Health()
    for tenth in range(99):
        health.refused(tenth / 10, 0.1)
    assert not health.is_no_window(9.9)

    health.refused(10, 0.1)

    assert health.is_no_window(10)


def test_refusals_that_lie_far_apart_say_nothing_together() -> None:
    health = Health()
    for now in (0.0, 200.0, 400.0, 600.0):
        health.refused(now, 5.0)

    assert not health.is_no_window(600)
