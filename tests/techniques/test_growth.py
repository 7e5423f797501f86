from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

import pytest

from techniques.core.task import Ran
from techniques.parts.growth import growth
from techniques.parts.measuring import timings

SIZES = (1000, 1500, 2000, 3000, 4000, 6000, 8000)


def measured(
    law: Callable[[int], float], noise: float = 0.0, seed: int = 0
) -> list[tuple[int, float]]:
    dice = Random(seed)
    return [(size, 1e-6 * law(size) * math.exp(dice.gauss(0, noise))) for size in SIZES]


LAWS: list[tuple[Callable[[int], float], str, float]] = [
    (lambda n: 1, "1", 1.0),
    (lambda n: math.log(n), "1", 1.0),
    (lambda n: n**0.5, "log n", 1.0),
    (lambda n: n, "n", 0.9),
    (lambda n: n * math.log(n), "n log n", 0.85),
    (lambda n: n * math.log2(n) + 4 * n, "n log n", 0.85),
    (lambda n: n**1.5, "n^1.5", 0.7),
    (lambda n: n**2, "n^2", 0.5),
    (lambda n: n**2 * math.log(n), "n^2", 0.5),
    (lambda n: n**3, "n^3", 0.3),
    (lambda n: 2 ** (n / 400), "worse than n^3", 0.1),
]


@pytest.mark.parametrize(("law", "order", "credit"), LAWS)
def test_a_law_is_told_from_its_times(
    law: Callable[[int], float], order: str, credit: float
) -> None:
    found = growth(measured(law))

    assert found is not None
    assert (found.order, found.credit) == (order, credit)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("law", "orders"),
    [
        (lambda n: 1, {"1"}),
        (lambda n: n, {"n"}),
        (lambda n: n * math.log(n), {"n log n"}),
        (lambda n: n**2, {"n^2"}),
    ],
)
def test_a_law_is_told_through_some_noise(
    law: Callable[[int], float], orders: set[str], seed: int
) -> None:
    found = growth(measured(law, 0.015, seed))

    assert found is not None
    assert found.order in orders


@pytest.mark.parametrize("count", range(4))
def test_three_sizes_tell_nothing(count: int) -> None:
    assert growth(measured(lambda n: n)[:count]) is None


def test_a_size_timed_again_is_no_further_size() -> None:
    assert growth([(1000, 1.0)] * 4 + [(2000, 2.0), (3000, 3.0)]) is None
    assert growth(measured(lambda n: n)[:4]) is not None


def test_a_size_without_a_logarithm_worth_the_name_tells_nothing() -> None:
    assert growth([(size, 1.0) for size in (1, 2, 4, 8)]) is None


def test_times_are_read_from_what_the_program_told() -> None:
    out = "noise\ntag 16 0.002000000\ntag 24 0.5\ntag x 1.0\nnot tag 32 0.1\ntag 32 0.75 more\n"

    assert timings(Ran("timeout", out), "tag") == [(16, 0.002), (24, 0.5)]
