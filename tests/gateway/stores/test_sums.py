"""Sums over spans of time against going through all that was added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.stores.memory.sums import KEPT_MS, Sums

TIMES = st.integers(0, 90_000)


@given(st.lists(st.tuples(TIMES, st.integers(-50, 50)), max_size=60), TIMES, TIMES)
def test_a_span_comes_to_what_was_added_in_it(
    added: list[tuple[int, int]], after: int, until: int
) -> None:
    sums = Sums()
    for at, amount in added:
        sums.add(at, amount)

    expected = sum(amount for at, amount in added if after < at <= until)
    assert sums.within(after, until) == expected


def test_what_is_long_past_takes_no_room() -> None:
    sums = Sums()
    for at in range(0, 20 * KEPT_MS, 500):
        sums.add(at, 1)

    kept = sum(map(len, (sums._ms, sums._parts, sums._chunks)))
    assert kept < 3 * (KEPT_MS + 4_000) / 500
    assert sums.within(19 * KEPT_MS, 20 * KEPT_MS) == KEPT_MS / 500 - 1
