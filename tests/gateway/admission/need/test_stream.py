from __future__ import annotations

from random import Random

import pytest

from gateway.admission.need.stream import LONG, SHORT, Stream, apart


def of(*values: float, every: int = 1, missed: float = 0.02) -> Stream:
    stream = Stream(missed, every=every)
    for value in values:
        stream.record(value)
    return stream


def mixed(count: int) -> list[int]:
    """Return the numbers from 1 to *count*, the largest of them well before the end."""
    values = list(range(1, count + 1))
    Random(2).shuffle(values)
    return sorted(values[:SHORT], reverse=True) + values[SHORT:]


def test_a_bound_is_the_quantile_of_what_was_and_one_more() -> None:
    values = mixed(LONG)

    assert max(values[-SHORT:]) < 197
    assert of(*values).bound() == 197
    assert of(*range(1, 21), missed=0.1).bound() == 19


def test_few_values_are_bounded_by_their_largest() -> None:
    assert of(*range(1, 26)).bound() == 25


def test_what_is_older_than_two_hundred_values_is_forgotten() -> None:
    stream = of(10**6, *range(LONG))

    assert stream.largest() == LONG - 1


def test_the_last_thirty_raise_a_bound_at_once() -> None:
    stream = of(*[10, 12] * 80, 500, every=1)

    assert stream.bound() == 500


def test_the_middle_and_what_is_usual_are_quantiles_of_all() -> None:
    _, middle, usual = of(*mixed(100)).figures()

    assert (middle, usual) == (50, 99)


def test_a_new_distribution_forgets_the_old() -> None:
    stream = of(*range(1000, 1100))
    stream.bound()

    for value in range(30):
        stream.record(value)
        stream.bound()

    assert stream.largest() < 1000


def test_the_same_distribution_is_kept() -> None:
    chance = Random(3)
    stream = Stream()
    for _ in range(5 * LONG):
        stream.record(chance.random())
        stream.bound()

    assert len(stream) == LONG


def test_figures_are_kept_until_some_more_values_have_come() -> None:
    stream = of(*range(100), every=8)
    before = stream.bound()

    for _ in range(7):
        stream.record(10**6)

    assert stream.bound() == before
    stream.record(10**6)
    assert stream.bound() == 10**6


def test_a_miss_is_answered_at_once() -> None:
    stream = of(*range(100), every=8)
    stream.bound()

    stream.adapt(missed=True)
    stream.record(500)

    assert stream.bound() == 500


def test_a_miss_raises_the_share_and_quiet_lowers_it_again() -> None:
    stream = of(1)

    stream.adapt(missed=True)
    raised = stream.share
    for _ in range(98):
        stream.adapt(missed=False)

    assert raised == pytest.approx(0.98 + 0.005 * 0.98)
    assert stream.share == pytest.approx(raised - 98 * 0.005 * 0.02)


@pytest.mark.parametrize(("missed", "end"), [(True, 0.999), (False, 0.90)])
def test_the_share_has_its_ends(*, missed: bool, end: float) -> None:
    stream = of(1)

    for _ in range(2000):
        stream.adapt(missed=missed)

    assert stream.share == end


@pytest.mark.parametrize("seed", range(5))
def test_distributions_are_compared_by_their_largest_distance(seed: int) -> None:
    chance = Random(seed)
    for _ in range(50):
        shift = chance.randrange(6)
        rest = [chance.randrange(10) for _ in range(60)]
        last = sorted(chance.randrange(10) + shift for _ in range(SHORT))
        distance = max(
            abs(sum(v <= x for v in last) / SHORT - sum(v <= x for v in rest) / 60)
            for x in range(20)
        )

        assert apart(last, sorted(last + rest)) == (distance > 0.4)


@pytest.mark.parametrize("seed", range(4))
def test_values_are_in_order_however_many_come_between_two_bounds(seed: int) -> None:
    chance = Random(seed)
    stream = Stream(every=1)

    for _ in range(300):
        for _ in range(chance.choice([1, 2, 7, 16, 17, 40])):
            stream.record(chance.randrange(50))
        stream.bound()

        assert stream._ordered == sorted(stream.recent)


def test_of_a_stream_that_nobody_asks_no_more_is_kept() -> None:
    stream = of(*range(10 * LONG))

    assert len(stream) == LONG
    assert len(stream._gone) <= 16
