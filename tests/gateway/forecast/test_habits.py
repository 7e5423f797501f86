"""What requests are made of, as they were seen."""

from __future__ import annotations

from gateway.forecast.habits import Habits, Made, form_of
from pricing.usage import Usage
from tests.gateway.forecast.test_calibration import finished, row


def test_calls_that_went_together_are_a_wave() -> None:
    draws = [row(110, started_at=at, seconds=5.0, role="candidate") for at in (1.0, 1.1, 1.2)]
    verdict = row(310, started_at=6.5, role="judge", model="large")

    first, second = form_of([verdict, *draws])

    assert first == (Made("fast", "candidate", 1.0, 0.0),) * 3
    assert second == (Made("large", "judge", 3.0, 0.0),)


def test_what_the_provider_had_cached_is_a_part_of_the_input() -> None:
    ((made,),) = form_of([row(usage=Usage(200, 5, cache_read_tokens=50))])

    assert made.cached == 0.25


def test_calls_that_failed_are_none_of_it() -> None:
    assert form_of([row(outcome="server"), row(usage=Usage())]) == ()


def test_fifty_of_each_technique_and_model_are_kept_and_the_oldest_goes_first() -> None:
    habits = Habits()

    habits([finished(row(role=f"r{place}")) for place in range(500)])
    oldest = int(habits.of("none", "fast")[0][0][0].role[1:])
    habits([finished(row(), technique="best_of_n"), finished(row(), outcome="upstream_error")])

    assert len(habits.of("none", "fast")) == 50
    assert oldest > 50
    assert len(habits.of("best_of_n", "fast")) == 1
    assert habits.of("best_of_n", "other") == ()


def test_no_more_than_so_many_techniques_and_models_are_kept() -> None:
    habits = Habits()

    for place in range(300):
        habits([finished(row(), model=f"m{place}")])

    assert habits.of("none", "m0") == ()
    assert len(habits.of("none", "m299")) == 1
