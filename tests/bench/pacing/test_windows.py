from __future__ import annotations

import math

import pytest

from bench.pacing.windows import Bucket, Counter


def test_a_bucket_fills_continuously_and_not_over_its_brim() -> None:
    bucket = Bucket(600)
    bucket.take(600, 0.0)

    assert bucket.left(6.0) == pytest.approx(60)
    assert bucket.full_in(6.0) == pytest.approx(54)
    assert bucket.left(1000.0) == 600


def test_a_bucket_tells_to_the_moment_when_there_is_enough() -> None:
    bucket = Bucket(600)
    bucket.take(500, 0.0)

    wait = bucket.wait(250, 0.0)

    assert wait == pytest.approx(15)
    assert bucket.wait(250, wait - 0.1) > 0
    assert bucket.wait(250, wait) == 0


@pytest.mark.parametrize("window", [Bucket(600), Counter(600)], ids=["bucket", "counter"])
def test_what_is_larger_than_the_window_is_never_there(window: Bucket | Counter) -> None:
    assert window.wait(601, 0.0) == math.inf
    assert window.wait(600, 0.0) == 0


def test_a_counter_is_whole_again_at_its_boundary_and_not_before() -> None:
    counter = Counter(600, origin=10.0)
    counter.take(600, 30.0)

    assert counter.left(69.9) == 0
    assert counter.wait(100, 60.0) == pytest.approx(10)
    assert counter.left(70.0) == 600


def test_a_counter_knows_what_was_left_at_its_boundaries() -> None:
    counter = Counter(600)
    counter.take(500, 1.0)
    counter.left(181.0)

    assert counter.wasted == 100 + 600 + 600
