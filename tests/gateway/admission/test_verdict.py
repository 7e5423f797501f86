"""Held or given back: a comparison of the time to wait with the patience."""

from __future__ import annotations

import pytest

from gateway.admission.verdict import GiveBack, Hold, Patience, verdict


@pytest.mark.parametrize(
    ("patience", "longest"),
    [
        (Patience(300), 300),
        (Patience(300, wished_s=20), 20),
        (Patience(55, wished_s=600), 55),
        (Patience(300, deadline_s=40), 30),
        (Patience(300, read_s=60), 55),
        (Patience(300, read_s=3), 0),
        (Patience(300, deadline_s=4), 0),
    ],
)
def test_the_shortest_patience_holds(patience: Patience, longest: float) -> None:
    assert patience.longest_s(10) == longest


def test_what_can_go_within_the_patience_is_held() -> None:
    assert verdict(Patience(55), 0, 54.9) == Hold(55)
    assert verdict(Patience(55), 0, 55.1) == GiveBack("patience")


def test_what_has_waited_is_taken_off() -> None:
    assert verdict(Patience(55), 50, 4) == Hold(5)
    assert verdict(Patience(55), 50, 6) == GiveBack("patience")
    assert verdict(Patience(55), 55, 0) == GiveBack("patience")


def test_a_release_that_nobody_can_date_is_waited_for_as_long_as_may_be() -> None:
    assert verdict(Patience(55), 10, None) == Hold(45)


@pytest.mark.parametrize("wish", ["reject", "suspend"])
def test_a_client_that_wants_no_waiting_is_told_at_once(wish: str) -> None:
    assert verdict(Patience(55, on_limit=wish), 0, 0.001) == GiveBack("asked")  # type: ignore[arg-type]


def test_a_call_that_could_not_end_in_time_even_at_once_is_too_late() -> None:
    assert verdict(Patience(300, deadline_s=5), 0, 0, predicted_s=6) == GiveBack("deadline")
    assert verdict(Patience(300, deadline_s=5), 0, 9, predicted_s=1) == GiveBack("patience")


def test_a_call_that_fits_its_deadline_after_the_wait_is_held() -> None:
    assert verdict(Patience(300, deadline_s=20), 0, 9, predicted_s=10) == Hold(10)
