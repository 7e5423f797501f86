"""A window that one answer alone tells as empty."""

from __future__ import annotations

from gateway.stores.ledger import WindowReading
from gateway.upstream.zeros import Zeros


def left(
    zeros: Zeros, remaining: float | None, *, limit: float = 30_000, kind: str = "bucket"
) -> float | None:
    reading = WindowReading("tok", remaining, limit, kind=kind)  # type: ignore[arg-type]
    return zeros.believed([reading], {"tok": 5000})[0].remaining


def test_one_zero_holds_up_a_like_call_for_two_seconds_and_a_second_zero_is_believed() -> None:
    zeros = Zeros()
    assert left(zeros, 0) == 5000 - 2 * 30_000 / 60
    assert left(zeros, 0) == 0


def test_a_zero_that_the_next_answer_does_not_confirm_is_doubted_again_the_next_time() -> None:
    zeros = Zeros()
    assert [left(zeros, told) for told in (0, 20_000, 0)] == [4000, 20_000, 4000]


def test_one_zero_of_a_window_that_comes_back_at_its_boundary_says_nothing() -> None:
    zeros = Zeros()
    assert left(zeros, 0, kind="fixed") is None
    assert left(zeros, 0, kind="fixed") == 0


def test_what_is_not_said_or_not_limited_confirms_nothing() -> None:
    zeros = Zeros()
    assert [left(zeros, told) for told in (0, None)] == [4000, None]
    assert left(zeros, 0, limit=0) == 0
    assert left(zeros, 0) == 4000


def test_what_is_doubted_raises_nothing() -> None:
    told = WindowReading("tok", 0, 30_000, exact=True, bounded=True)
    (doubted,) = Zeros().believed([told], {"tok": 5000})
    assert not doubted.exact
    assert not doubted.bounded
