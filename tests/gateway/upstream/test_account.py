"""What a replica knows of an account."""

from __future__ import annotations

from gateway.upstream.account import unlimited


def test_of_many_answers_in_one_second_a_part_is_heard_out_and_of_few_all() -> None:
    account = unlimited()

    busy = [account.is_skimmed(7.0 + n / 1000) for n in range(450)]
    calm = [account.is_skimmed(8.5 + n / 49) for n in range(490)]

    assert busy[:50] == [False] * 50
    assert busy[50:].count(False) == 400 / 8
    assert not any(calm)
