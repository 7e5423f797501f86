from __future__ import annotations

from router_service.breaker import Breaker


def failing(breaker: Breaker, number: int, now: float = 0.0) -> None:
    for _ in range(number):
        assert breaker.lets_through(now)
        breaker.failed(now)


def test_it_opens_after_so_many_failures_in_a_row() -> None:
    breaker = Breaker(5)
    failing(breaker, 4)
    assert breaker.lets_through(0.0)
    breaker.succeeded()
    failing(breaker, 4)
    assert not breaker.is_open
    failing(breaker, 1)

    assert breaker.is_open
    assert not breaker.lets_through(0.9)


def test_then_one_at_a_time_gets_through() -> None:
    breaker = Breaker(1, first_s=1.0)
    failing(breaker, 1)

    assert breaker.lets_through(1.0)
    assert not breaker.lets_through(1.0)
    assert not breaker.lets_through(100.0)


def test_it_closes_when_that_one_gets_an_answer() -> None:
    breaker = Breaker(1, first_s=1.0)
    failing(breaker, 1)
    assert breaker.lets_through(1.0)
    breaker.succeeded()

    assert breaker.lets_through(1.0)
    assert breaker.lets_through(1.0)


def test_it_waits_ever_longer_up_to_a_bound() -> None:
    breaker = Breaker(1, first_s=1.0, longest_s=3.0)
    now, pauses = 0.0, []
    breaker.failed(now)
    for _ in range(4):
        begun = now
        while not breaker.lets_through(now):
            now += 0.5
        pauses.append(now - begun)
        breaker.failed(now)

    assert pauses == [1.0, 2.0, 3.0, 3.0]


def test_who_leaves_makes_room_for_the_next() -> None:
    breaker = Breaker(1, first_s=1.0)
    failing(breaker, 1)
    assert breaker.lets_through(1.0)
    breaker.left()

    assert breaker.is_open
    assert breaker.lets_through(1.0)


def test_who_asked_before_it_opened_keeps_it_open_no_longer() -> None:
    breaker = Breaker(1, first_s=1.0)
    failing(breaker, 1)
    breaker.failed(0.9)

    assert breaker.lets_through(1.0)
