"""A-81: what is measured, and what it decides."""

from __future__ import annotations

import pytest

from gateway.upstream.llama_cpp.pace import Pace
from gateway.upstream.llama_cpp.told import Moved

MOVED = Moved(1000, 20_000_000, 0.1)


def test_before_a_slot_was_saved_five_seconds_and_500_megabytes_are_kept() -> None:
    pace = Pace()

    assert (pace.reserve_s, pace.wanted_free, pace.bytes_per_token) == (5.0, 500 * 10**6, None)


def test_a_save_tells_what_a_token_takes_and_how_long_saving_lasts() -> None:
    pace = Pace()
    pace.saved(MOVED, 0.25)

    assert (pace.bytes_per_token, pace.reserve_s) == (20_000, 0.25)


def test_five_times_the_largest_file_stays_free() -> None:
    pace = Pace()
    pace.saved(Moved(1000, 300 * 10**6, 1), 1)
    pace.saved(MOVED, 1)

    assert pace.wanted_free == 1_500 * 10**6


def test_what_was_stated_is_not_replaced_by_what_is_measured() -> None:
    pace = Pace(bytes_per_token=7, save_s=9, min_free=3)
    pace.saved(Moved(1000, 300 * 10**6, 1), 1)

    assert (pace.bytes_per_token, pace.reserve_s, pace.wanted_free) == (7, 9, 3)


def test_restoring_is_worth_it_until_more_is_known() -> None:
    assert Pace().is_worth_restoring(10, 10**9)


@pytest.mark.parametrize(("per_s", "worth"), [(100, True), (10_000, False)])
def test_restoring_is_worth_it_where_computing_takes_longer(per_s: float, *, worth: bool) -> None:
    pace = Pace()
    pace.restored(MOVED, 1.0)
    pace.read(1000, 1000 / per_s)

    assert pace.is_worth_restoring(1000, 20_000_000) is worth


@pytest.mark.parametrize(("per_s", "worth"), [(400, True), (600, False)])
def test_saving_is_worth_it_where_computing_takes_longer_than_saving_and_restoring(
    per_s: float, *, worth: bool
) -> None:
    pace = Pace()
    pace.saved(MOVED, 1.0)
    pace.restored(MOVED, 1.0)
    pace.read(1000, 1000 / per_s)

    assert pace.is_worth_saving(1000) is worth


def test_a_few_tokens_tell_nothing_of_how_fast_prompts_are_read() -> None:
    pace = Pace()
    pace.read(3, 1.0)

    assert pace.prefill_s(1000) is None
