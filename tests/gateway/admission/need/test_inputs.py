from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from gateway.admission.need.inputs import Inputs, _kind
from gateway.admission.need.traits import Traits
from gateway.admission.need.value import Need, SubCall
from pricing.usage import Usage
from tests.gateway.admission.need.calls import a_call

NEED = Need(1, 1, 1, 1)
LONG = Traits(text_bytes=40_000, framed=True, prefix=1)


def sized(size: int, images: int = 0, sounds: int = 0) -> SubCall:
    return a_call(Traits(text_bytes=size, framed=True, images=images, sounds=sounds))


def seen(*calls: tuple[SubCall, int]) -> Inputs:
    """Return inputs that were learned from *calls* and their tokens."""
    inputs = Inputs()
    for call, tokens in calls:
        inputs.record(call, NEED, Usage(tokens))
    return inputs


def test_before_anything_is_learned_a_token_is_two_bytes() -> None:
    assert Inputs().bound(sized(4000)) == 2000 + 32
    assert Inputs().bound(sized(0)) > 0


def test_the_ratio_is_learned_from_what_providers_count() -> None:
    inputs = seen(*[(sized(4000 + n), 1000) for n in range(30)])

    assert inputs.bound(sized(8000)) == pytest.approx(2000, abs=2)


def test_the_bound_holds_for_99_of_100_inputs() -> None:
    inputs, chance, missed = Inputs(), Random(1), 0
    for index in range(3200):
        call = sized(chance.randrange(2000, 12000))
        tokens = round(call.traits.text_bytes * chance.gauss(0.25, 0.03)) + 8
        need = NEED._replace(input=inputs.bound(call))
        missed += index >= 200 and tokens > need.input
        inputs.record(call, need, Usage(tokens))

    assert missed / 3000 == pytest.approx(0.01, abs=0.005)


@pytest.mark.parametrize("spread", [0.01, 0.03])
def test_few_calls_bound_the_next_and_closely_where_they_hardly_differ(spread: float) -> None:
    missed, room = 0, []
    for seed in range(300):
        inputs, chance = Inputs(), Random(seed)
        for index in range(20):
            call = sized(chance.randrange(4200, 12000))
            tokens = round(call.traits.text_bytes * chance.gauss(0.25, spread)) + 8
            bound = inputs.bound(call)
            if index >= 4:
                missed += tokens > bound
                room.append(bound / tokens)
            inputs.record(call, NEED._replace(input=bound), Usage(tokens))

    assert missed / len(room) < 0.01
    assert fmean(room) < 1 + 15 * spread


def test_small_requests_say_nothing_of_the_ratio_of_large_ones() -> None:
    small = [(sized(10), 40)] * 30
    large = [(sized(50_000), 12_500)] * 30

    inputs = seen(*small, *large)

    assert inputs.bound(sized(10)) == 41
    assert inputs.bound(sized(50_000)) == 12_501


def test_words_alone_and_whole_bodies_have_ratios_of_their_own() -> None:
    inputs = seen(*[(sized(4000), 1000)] * 30)

    assert inputs.bound(a_call(Traits(text_bytes=4000, framed=False))) == 2032


def test_an_image_counts_as_much_as_the_largest_of_late() -> None:
    text = [(sized(4000), 1000)] * 30
    inputs = seen(*text, (sized(4000, images=1), 1300), (sized(4000, images=2), 1000 + 2 * 500))

    assert inputs.bound(sized(4000, images=3)) == 1001 + 3 * 500


def test_an_unseen_image_or_sound_counts_as_stated() -> None:
    inputs = Inputs(image=1000, sound=10)

    assert inputs.bound(sized(0, images=2, sounds=3)) == 32 + 2000 + 30


def test_a_sound_counts_as_the_largest_and_is_no_image() -> None:
    inputs = seen((sized(0, sounds=1), 700))

    assert inputs.bound(sized(0, sounds=1, images=1)) == 32 + 700 + 1600


def test_of_images_and_sounds_together_nothing_is_learned() -> None:
    inputs = seen((sized(0, sounds=1, images=1), 9000))

    assert inputs.bound(sized(0, images=1)) == 32 + 1600


def test_what_was_not_counted_is_not_learned_from() -> None:
    inputs = seen(*[(sized(4000), 0)] * 30)

    assert inputs.bound(sized(4000)) == 2032


def hit(inputs: Inputs, call: SubCall, tokens: int) -> None:
    inputs.record(call, NEED, Usage(10_000, 1, cache_read_tokens=tokens))


def test_a_prefix_is_cached_once_a_hit_was_seen() -> None:
    inputs, call = Inputs(), a_call(LONG)
    assert inputs.cached(call) == 0

    hit(inputs, call, 8000)

    assert inputs.cached(call) == 8000
    assert inputs.cached(a_call(LONG._replace(prefix=2))) == 0
    assert inputs.cached(a_call(LONG._replace(prefix=None))) == 0
    assert inputs.cached(a_call(LONG, model="slow")) == 0


def test_the_smallest_hit_counts_until_there_is_none() -> None:
    inputs, call = Inputs(), a_call(LONG)

    hit(inputs, call, 8000)
    hit(inputs, call, 4000)
    hit(inputs, call, 9000)
    assert inputs.cached(call) == 4000

    hit(inputs, call, 0)
    assert inputs.cached(call) == 0


@pytest.mark.parametrize(("later", "expected"), [(240, 8000), (241, 0)])
def test_a_prefix_is_forgotten_before_its_provider_does(later: float, expected: int) -> None:
    inputs, call = Inputs(), a_call(LONG)
    hit(inputs, call._replace(at_s=1000), 8000)

    assert inputs.cached(call._replace(at_s=1000 + later)) == expected


def test_a_thousand_prefixes_are_kept() -> None:
    inputs = Inputs()

    for prefix in range(1001):
        hit(inputs, a_call(LONG._replace(prefix=prefix)), 10)

    assert inputs.cached(a_call(LONG._replace(prefix=0))) == 0
    assert inputs.cached(a_call(LONG._replace(prefix=1))) == 10


def test_a_missed_input_raises_the_quantile() -> None:
    call = sized(4000)
    inputs = seen(*[(call, 1000)] * 20)
    found = inputs._ratios.find(_kind(call))
    assert found is not None

    inputs.record(call, NEED._replace(input=1001), Usage(1000))
    calm = found[0].share
    inputs.record(call, NEED._replace(input=999), Usage(1000))

    assert calm < 0.99 < found[0].share
