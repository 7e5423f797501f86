from __future__ import annotations

import pytest

from gateway.admission.legacy.estimator import Estimator, Terms

BARE = Terms(max_tokens=0, tool_overhead=0, min_estimate=0)


def after(*errors: int, terms: Terms = BARE) -> Estimator:
    """Return a bare estimator that was wrong by *errors*, one after the other."""
    estimator = Estimator(terms)
    for error in errors:
        estimator.record(100, estimator.formula(100) + error)
    return estimator


def test_the_formula_adds_what_may_be_written_and_what_tools_cost() -> None:
    assert Estimator(Terms(max_tokens=650, tool_overhead=280)).formula(1000) == 1930


def test_nothing_is_corrected_without_history() -> None:
    assert after().correction() == 0


def test_what_was_underestimated_six_times_is_added() -> None:
    estimator = after(*[80] * 6)

    assert estimator.correction() == 80
    assert estimator.estimate(100) == 180


def test_only_the_last_errors_correct() -> None:
    estimator = after(100, 100, 100, 10, 10, 10, terms=Terms(error_window=3))

    assert estimator.correction() == 10


def test_a_correction_is_cut_towards_nothing() -> None:
    assert after(-1, -2).correction() == -1


def test_an_estimate_is_never_below_its_floor() -> None:
    assert after(-5000, terms=Terms()).estimate(1) == 200


def test_the_deviation_of_few_is_a_share_of_the_estimate() -> None:
    assert after(1, 2, 3).sigma(1000) == pytest.approx(270)


def test_four_equal_errors_leave_no_deviation() -> None:
    assert after(5, 5, 5, 5).sigma(1000) == 0


def test_the_deviation_is_that_of_the_population() -> None:
    assert after(0, 0, 10, 10).sigma(1000) == 5


def test_the_deviation_is_that_of_all_errors() -> None:
    assert after(0, 20, *[10] * 6).sigma(1000) == 5


def test_a_quantile_needs_eight_errors() -> None:
    assert after(*[0] * 7).upper(100) is None
    assert after(*[0] * 7, 9).upper(100) == 109


def test_quantiles_of_ten_errors() -> None:
    estimator = after(*[0] * 9, 5000)

    assert estimator.upper(100, 0.95) == 5100
    assert estimator.upper(100, 0.5) == 100


STEADY = Terms(max_tokens=0, tool_overhead=0, min_estimate=0, phase_window=None)


def test_thirty_tame_calls_forget_a_monster() -> None:
    estimator = after(5000, *[1] * 30, terms=STEADY)

    assert estimator.upper(100) == 101
    assert estimator.upper(100, 1, window=1000) == 5100


def test_steady_errors_are_all_kept() -> None:
    assert after(*[-5, 5] * 16).samples == 32


def test_a_new_phase_forgets_the_old() -> None:
    estimator = after(*[-5, 5] * 8, *[2000] * 8)

    assert estimator.samples <= 8
    assert estimator.sigma(1000) < 100


def test_a_new_phase_is_not_looked_for_where_that_is_off() -> None:
    assert after(*[-5, 5] * 8, *[2000] * 8, terms=STEADY).samples == 24


def test_a_phase_that_is_not_steady_is_none() -> None:
    assert after(*[0] * 8, *[1000, 3000] * 4).samples == 16


def test_a_resumed_estimator_goes_on_where_it_was() -> None:
    first = after(1, 2, 3, 40, 5, 6)
    second = Estimator(BARE)

    second.restore(first.state())

    assert second.samples == 6
    assert second.correction() == first.correction()
    assert second.sigma(1) == first.sigma(1)


def test_two_hundred_calls_are_kept_for_later() -> None:
    state = after(*range(250), terms=STEADY).state()

    assert state["errors"] == list(range(50, 250))
    assert len(state["realized"]) == 200
