from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

import pytest

from gateway.admission.need.conformal import UNLEARNED, Conformal
from gateway.admission.need.stream import EVERY
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need, SubCall, Timing
from pricing.usage import Usage
from tests.gateway.admission.need.calls import INPUT, PLAIN, a_call, feed, taught

Draw: TypeAlias = Callable[[Random, int], float]


def lognormal(chance: Random, _: int) -> float:
    return chance.lognormvariate(4.6, 0.9)


def bimodal(chance: Random, _: int) -> float:
    return chance.gauss(60, 10) if chance.random() < 0.8 else chance.gauss(800, 100)


def drifting(chance: Random, index: int) -> float:
    return chance.lognormvariate(4 + index / 2000, 0.6)


def jumping(chance: Random, index: int) -> float:
    return chance.lognormvariate(4.0 if index // 500 % 2 else 6.0, 0.5)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("draw", [lognormal, bimodal, drifting, jumping])
def test_a_bound_holds_for_98_of_100_calls(draw: Draw, seed: int) -> None:
    chance = Random(seed)
    outputs = [max(round(draw(chance, index)), 1) for index in range(3200)]

    fits = feed(Conformal(), outputs)[200:]

    assert sum(not fit.output_missed for fit in fits) / len(fits) == pytest.approx(0.98, abs=0.01)


def test_a_surprise_raises_the_quantile_and_quiet_lowers_it_again() -> None:
    predictor = taught([100] * 40)

    calm = feed(predictor, [100])[0].share
    surprised = feed(predictor, [5000])[0].share
    quiet = feed(predictor, [100] * 60)[-1].share

    assert calm is not None
    assert surprised is not None
    assert quiet is not None
    assert calm < surprised > quiet


def test_a_surprise_raises_the_bound_at_once() -> None:
    predictor = taught([100] * 100 + [5000])

    assert predictor.need(a_call()).output > 5000


def test_calls_that_were_all_alike_do_not_promise_the_next_to_be_so() -> None:
    need = taught([100] * 200).need(a_call())

    assert 100 < need.output < 110
    assert need.likely == need.usual == 100


@pytest.mark.parametrize(
    ("unseen", "ground"),
    [
        (a_call(use="vote"), "role"),
        (a_call(PLAIN._replace(tools=True)), "role"),
        (a_call(PLAIN._replace(schema=True)), "role"),
        (a_call(PLAIN._replace(thinking=True)), "role"),
        (a_call(PLAIN._replace(max_tokens=50)), "role"),
        (a_call(role="judge"), "model"),
    ],
)
def test_an_unseen_kind_is_bounded_as_what_it_is_part_of(unseen: SubCall, ground: str) -> None:
    outputs = [Random(1).randrange(40) for _ in range(19)]
    predictor = taught([10 + n for n in range(40)])
    feed(predictor, outputs, unseen._replace(traits=unseen.traits._replace(max_tokens=None)))

    need = predictor.need(unseen)

    pooled = predictor.need(a_call(use="other", role=unseen.role))
    assert need.ground == ground
    assert need.learned >= pooled.learned


def test_nothing_is_taken_from_another_model() -> None:
    assert taught([10] * 40).need(a_call(model="slow")).ground == "default"


def test_before_anything_is_learned_a_call_may_use_all_it_is_allowed() -> None:
    unstated, stated = a_call(), a_call(PLAIN._replace(max_tokens=300))
    known = unstated._replace(most_output=9000)

    needs = [Conformal().need(call) for call in (unstated, stated, known)]

    assert [need.output for need in needs] == [UNLEARNED, 300, 9000]
    assert [need.ground for need in needs] == ["default", "limit", "limit"]
    assert [need.likely for need in needs] == [256, 256, 256]


def test_a_bound_is_not_above_what_is_allowed() -> None:
    predictor = taught([700] * 30, a_call(PLAIN._replace(max_tokens=900)))

    need = predictor.need(a_call(PLAIN._replace(max_tokens=200)))

    assert (need.output, need.likely, need.most) == (200, 200, 200)
    assert need.learned > 700


@pytest.mark.parametrize(
    ("allowed", "given", "most"),
    [(500, None, 500), (None, 8000, 8000), (500, 8000, 500), (10**9, 8000, 8000)],
)
def test_the_most_is_what_the_caller_allows_within_what_the_model_gives(
    allowed: int | None, given: int | None, most: int
) -> None:
    call = a_call(PLAIN._replace(max_tokens=allowed))._replace(most_output=given)

    assert taught([40] * 30).need(call).most == most


def test_the_most_is_the_bound_where_nobody_says() -> None:
    need = taught([40] * 30).need(a_call())

    assert need.most == need.output < 50


def test_choices_multiply() -> None:
    three = a_call(PLAIN._replace(max_tokens=900, choices=3))

    predictor = taught([300] * 30, three)

    assert predictor.need(three).likely == 300
    assert predictor.need(three).most == 2700
    assert predictor.need(a_call()).likely == 100


@pytest.mark.parametrize(("allowed", "expected"), [(400, False), (401, True), (None, False)])
def test_four_times_the_usual_is_oversized(allowed: int | None, *, expected: bool) -> None:
    predictor = taught([100] * 40)

    assert predictor.need(a_call(PLAIN._replace(max_tokens=allowed))).oversized is expected


def test_nothing_is_oversized_before_anything_is_learned() -> None:
    assert not Conformal().need(a_call(PLAIN._replace(max_tokens=10**6))).oversized


def test_a_fit_tells_what_was_held_and_used() -> None:
    need = Need(input=800, output=100, likely=50, most=100)

    fit = Conformal().record(a_call(), need, Usage(700, 200))

    assert (fit.input_missed, fit.output_missed) == (False, True)
    assert (fit.held, fit.used, fit.ratio) == (900, 900, 1)
    assert Conformal().record(a_call(), need, Usage()).ratio is None


def test_what_is_kept_does_not_grow_with_what_callers_make_up() -> None:
    predictor = Conformal()
    chance = Random(1)

    for _ in range(3000):
        traits = Traits(
            tools=chance.random() < 0.5,
            max_tokens=chance.randrange(1, 10**6),
            choices=chance.randrange(1, 100),
            text_bytes=chance.randrange(10**6),
            prefix=chance.randrange(10**9),
        )
        feed(predictor, [5], a_call(traits))

    assert len(predictor._outputs) <= 2 * 3 + 2
    assert len(predictor._inputs._ratios) <= 2 * 6 + 6 + 1


def test_times_are_unknown_until_twenty_calls_were_timed() -> None:
    predictor, call = Conformal(), a_call()

    for seen in range(20):
        assert predictor.latency(call) is None, seen
        predictor.record(call, predictor.need(call), Usage(INPUT, 101), Timing(0.5, 2.5))

    latency = predictor.latency(call)
    assert latency is not None
    assert latency.until_done(100) == pytest.approx(2.5)
    assert latency.likely(100) == pytest.approx(2.5)


def test_times_are_bounded_for_98_of_100_and_likely_for_half() -> None:
    predictor, call, chance = Conformal(), a_call(), Random(1)

    for _ in range(200 + EVERY):
        first = chance.uniform(1, 2)
        predictor.record(call, predictor.need(call), Usage(INPUT, 11), Timing(first, first + 1))

    latency = predictor.latency(call)
    assert latency is not None
    assert latency.first_s > 1.9
    assert latency.likely_first_s == pytest.approx(1.5, abs=0.1)
    assert latency.token_s == pytest.approx(0.1)


def test_answers_that_come_whole_have_times_of_their_own() -> None:
    predictor, call = Conformal(), a_call()
    for _ in range(20):
        predictor.record(call, predictor.need(call), Usage(INPUT, 11), Timing(1, 2))

    assert predictor.latency(call._replace(whole=True)) is None


def test_a_miss_raises_the_quantile_of_what_the_bound_was_taken_from() -> None:
    predictor = taught([100] * 40)
    before = feed(predictor, [100], a_call(use="other"))[0].share

    missed = feed(predictor, [5000], a_call(use="vote"))[0].share
    after = feed(predictor, [100], a_call(use="third"))[0].share

    assert before is not None
    assert missed is not None
    assert after is not None
    assert missed > before + 0.004
    assert after > before + 0.004


def test_what_calls_came_to_can_be_asked_for_once_there_were_five_and_nothing_is_learned() -> None:
    predictor, call = Conformal(), a_call()
    timed = Timing(0.5, 2.5)
    for output in (11, 21, 31, 41):
        predictor.record(call, predictor.need(call), Usage(INPUT, output), timed)
    few = predictor.past(call)
    predictor.record(call, predictor.need(call), Usage(INPUT, 51), timed)

    past, again = predictor.past(call), predictor.past(call)

    assert (few.outputs, few.firsts, few.paces) == ((), (), ())
    assert past == again
    assert past.outputs == (11, 21, 31, 41, 51)
    assert past.firsts == (0.5,) * 5
    assert past.paces == pytest.approx((0.2, 0.1, 2 / 30, 0.05, 0.04))
    assert past.ratio == pytest.approx(INPUT / PLAIN.text_bytes)


def test_the_past_of_calls_that_nobody_made_is_that_of_their_model() -> None:
    past = taught([100] * 9).past(a_call(role="judge"))

    assert past.outputs == (100,) * 9
    assert Conformal().past(a_call()).ratio is None
