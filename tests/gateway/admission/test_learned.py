"""What a refusal teaches that tells of no window."""

from __future__ import annotations

from gateway.admission.limits import Learned, learned
from gateway.admission.reading import NOTHING_TOLD, Dimension, Reading, Told

USE: dict[Dimension, int] = {"requests": 12, "tokens": 3400, "concurrency": 5}


def test_a_refusal_that_tells_nothing_bounds_requests_and_tokens_by_what_was_sent() -> None:
    assert learned(NOTHING_TOLD, USE) == (Learned("requests", 12, 60), Learned("tokens", 3400, 60))


def test_a_refusal_that_names_what_is_full_bounds_that_alone() -> None:
    assert learned(Told(exhausted=("tokens", None)), USE) == (Learned("tokens", 3400, 60),)
    assert learned(Told(exhausted=("concurrency", None)), USE) == (Learned("concurrency", 5, 0),)


def test_where_a_window_was_told_nothing_is_learned() -> None:
    assert learned(Told((Reading("tokens", 60, 100, 0),)), USE) == ()
    assert learned(Told(never=True), USE) == ()


def test_nothing_is_learned_of_what_was_not_used() -> None:
    assert learned(NOTHING_TOLD, {"requests": 0}) == ()
    assert learned(NOTHING_TOLD, {"requests": 1}) == (Learned("requests", 1, 60),)
