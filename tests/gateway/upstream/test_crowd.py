"""Which answers of a busy moment are heard out."""

from __future__ import annotations

from gateway.upstream.crowd import Crowd


def test_of_many_answers_in_one_second_a_part_is_heard_out_and_of_few_all() -> None:
    crowd = Crowd()

    busy = [crowd.is_skimmed(7.0 + n / 1000) for n in range(450)]
    calm = [crowd.is_skimmed(8.5 + n / 49) for n in range(490)]

    assert busy[:50] == [False] * 50
    assert busy[50:].count(False) == 400 / 8
    assert not any(calm)
