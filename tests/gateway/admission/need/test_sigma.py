from __future__ import annotations

import pytest

from gateway.admission.legacy.estimator import Terms
from gateway.admission.need.sigma import Legacy
from gateway.admission.need.value import Need, Timing
from pricing.usage import Usage
from tests.gateway.admission.need.calls import INPUT, PLAIN, a_call, feed

TERMS = Terms(max_tokens=650, tool_overhead=280, phase_window=None)


def test_output_is_what_the_estimate_has_beyond_the_input_and_two_deviations() -> None:
    need = Legacy(TERMS).need(a_call())
    estimate = need.input + 650 + 280

    assert need.input + need.output == pytest.approx(estimate * 1.54, abs=1)
    assert need.likely == 930


def test_the_estimate_is_corrected_by_what_calls_used() -> None:
    predictor = Legacy(TERMS)

    feed(predictor, [100] * 40)

    assert predictor.need(a_call()).output == pytest.approx(100, abs=5)


def test_a_quantile_takes_the_place_of_deviations_from_eight_calls_on() -> None:
    predictor = Legacy(TERMS, share=0.95)
    feed(predictor, [100] * 7)
    before = predictor.need(a_call())

    feed(predictor, [5000])

    assert before.output < 1000
    assert predictor.need(a_call()).output > 4000


def test_no_more_is_expected_than_is_allowed() -> None:
    need = Legacy(TERMS).need(a_call(PLAIN._replace(max_tokens=10)))

    assert (need.output, need.most) == (10, 10)


def test_models_are_estimated_apart_and_calls_are_timed() -> None:
    predictor, call = Legacy(TERMS), a_call()
    for _ in range(500):
        predictor.record(call, predictor.need(call), Usage(INPUT, 11), Timing(1, 2))

    latency = predictor.latency(call)

    assert latency is not None
    assert latency.until_done(10) == pytest.approx(2)
    assert predictor.need(a_call(model="slow")).likely == 930
    assert predictor._estimators["fast"].samples <= 400


def test_a_fit_tells_what_was_held_and_used() -> None:
    fit = Legacy(TERMS).record(a_call(), Need(800, 100, 50, 100), Usage(900, 50))

    assert (fit.input_missed, fit.output_missed, fit.held, fit.used) == (True, False, 900, 950)
    assert fit.share is None


def test_of_outputs_it_keeps_none_but_of_times_and_inputs() -> None:
    predictor, call = Legacy(TERMS), a_call()
    for _ in range(5):
        predictor.record(call, predictor.need(call), Usage(INPUT, 11), Timing(0.5, 2.5))

    past = predictor.past(call)

    assert (past.outputs, past.firsts) == ((), (0.5,) * 5)
    assert past.ratio == pytest.approx(INPUT / PLAIN.text_bytes)
