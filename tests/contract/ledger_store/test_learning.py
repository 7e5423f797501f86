"""What every ledger learns of answers and refusals."""

from __future__ import annotations

import pytest

from gateway.stores.ledger import (
    Ask,
    Entry,
    Granted,
    Refusal,
    Settlement,
    Waiting,
    WindowReading,
    WindowSpec,
)
from tests.contract.ledger_store.desk import DAY_MS, MINUTE_MS, Desk, bucket, fixed, gauge

pytestmark = pytest.mark.anyio


def read(remaining: float | None, limit: float | None = None, name: str = "tok") -> WindowReading:
    return WindowReading(name, remaining, limit)


async def test_a_reading_lowers_the_level_by_what_is_not_left_and_what_was_sent_later(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=1000)
    desk.clock.pass_(500)
    await desk.ask("b", tok=2000)
    desk.clock.pass_(100)
    desk.tell("a", read(26_000, 30_000))
    assert await desk.level("tok") == pytest.approx(26_000 + 600 * 0.5 - 2000)


async def test_a_reading_never_raises_the_level(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=5000)
    desk.tell("a", read(29_999, 30_000))
    assert await desk.level("tok") == 25_000


async def test_after_a_cold_start_the_first_reading_may_raise_the_level_and_no_later_one(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000, level=2000))
    await desk.ask("a", dispatched=True, tok=1500)
    assert isinstance(await desk.probe("b", tok=1500), Waiting)
    desk.clock.pass_(300)
    desk.tell("a", read(28_000, 30_000))
    assert await desk.level("tok") == pytest.approx(28_150)
    await desk.ask("c", dispatched=True, tok=0)
    desk.tell("c", read(29_999, 30_000))
    assert await desk.level("tok") == pytest.approx(28_150)


async def test_a_reading_that_is_exact_raises_the_level_by_half_of_what_it_lacks(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=10_000)
    desk.tell("a", WindowReading("tok", 24_000, 30_000, exact=True))
    assert await desk.level("tok") == 22_000


async def test_of_an_exact_reading_what_was_sent_later_is_taken_off_as_ever(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=10_000)
    desk.clock.pass_(1)
    await desk.ask("b", dispatched=True, tok=3000)
    desk.tell("a", WindowReading("tok", 20_000, 30_000, exact=True))
    assert await desk.level("tok") == pytest.approx(17_000, abs=1)


async def test_what_was_sent_just_before_may_come_after_and_is_taken_off_what_is_raised(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=10_000)
    await desk.ask("b", dispatched=True, tok=4000)
    desk.tell("b", WindowReading("tok", 28_000, 30_000, exact=True))
    assert await desk.level("tok") == 17_000


async def test_a_reading_that_is_bounded_raises_by_what_is_there_when_all_held_is_used(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000, level=1000))
    await desk.ask("a", dispatched=True, tok=500)
    desk.settle("a", tok=500)
    desk.tell("a", read(10_000, 30_000))  # the first
    await desk.ask("b", dispatched=True, tok=4000)
    desk.clock.pass_(1000)
    await desk.ask("c", dispatched=True, tok=1000)
    desk.tell("c", WindowReading("tok", 20_000, 30_000, bounded=True))
    # There were 5,500; of 20,000 five thousand may still be taken, and what c comes to twice.
    assert await desk.level("tok") == pytest.approx(5500 + (14_000 - 5500) / 2)


async def test_a_window_is_left_at_most_what_a_definition_says_until_the_next_reading(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.define(bucket("tok", 30_000, level=3000))
    assert await desk.level("tok") == 3000
    await desk.define(bucket("tok", 30_000, level=9000))
    assert await desk.level("tok") == 3000
    await desk.ask("a", dispatched=True, tok=1000)
    desk.tell("a", read(28_000, 30_000))
    assert await desk.level("tok") == pytest.approx(28_000)


async def test_a_reading_of_less_than_nothing_is_none(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=1000)
    before = await desk.peek()
    desk.tell("a", read(-1, 0))
    desk.tell("a", read(-1, 99))
    assert await desk.peek() == before


@pytest.mark.parametrize("odd", [float("inf"), float("nan")])
async def test_a_reading_that_is_no_number_is_none(desk: Desk, odd: float) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=1000)
    shown = [read(odd, 99), read(5, odd), read(5, odd, name="new")]
    desk.ledger.settle(desk.pool, Settlement("a", {"tok": 400}, shown))
    assert [window.level for window in (await desk.peek()).windows] == [29_600]


async def test_a_settlement_takes_its_readings_in(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=1000)
    desk.ledger.settle(desk.pool, Settlement("a", {"tok": 500}, [read(20_000)]))
    assert await desk.level("tok") == 20_000


async def test_another_limit_changes_the_size_and_the_rate(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("a", dispatched=True, tok=0)
    desk.tell("a", read(None, 6000))
    state = await desk.window("tok")
    assert (state.cap, state.level) == (6000, 6000)
    assert state.rate == pytest.approx(100)


async def test_what_others_take_is_learned_and_slows_us_down_to_a_twentieth_at_most(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    for turn in range(12):
        await desk.ask(f"a{turn}", dispatched=True, tok=0)
        desk.clock.pass_(100)
        shown = [read(max(0, 26_000 - 500 * turn), 30_000)]
        desk.ledger.settle(desk.pool, Settlement(f"a{turn}", {"tok": 0}, shown))
        desk.clock.pass_(4900)
    state = await desk.window("tok")
    assert 200 < state.drain <= 500
    assert state.rate >= 25
    assert 300 < state.margin <= 300 + 0.25 * 30_000


async def test_our_own_calls_are_not_taken_for_those_of_others(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    left = 30_000.0
    for turn in range(8):
        await desk.ask(f"a{turn}", dispatched=True, tok=3000)
        left -= 2500
        desk.clock.pass_(100)
        desk.ledger.settle(desk.pool, Settlement(f"a{turn}", {"tok": 2500}, [read(left)]))
        desk.clock.pass_(1900)
        left += 1000
    state = await desk.window("tok")
    assert (state.drain, state.margin) == (0, 300)


async def test_nothing_is_learned_of_others_while_a_call_is_under_way(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000))
    for turn in range(5):
        await desk.ask(f"a{turn}", dispatched=True, tok=0)
        desk.tell(f"a{turn}", read(20_000 - 4000 * turn))
        desk.clock.pass_(1000)
    state = await desk.window("tok")
    assert (state.drain, state.margin) == (0, 300)


async def test_an_answer_makes_a_window_that_was_not_known(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=10)
    day = WindowReading("day", 99, 100, "fixed", DAY_MS, reset_ms=5000)
    desk.tell("a", day, WindowReading("hour", 5), read(5000))
    state = await desk.window("day")
    assert (state.kind, state.cap, state.level, state.ends_in_ms) == ("fixed", 100, 99, 5000)
    assert [window.name for window in (await desk.peek()).windows] == ["day", "tok"]


async def test_an_answer_replaces_a_guess(desk: Desk) -> None:
    await desk.define(WindowSpec("tok", "bucket", 100, MINUTE_MS, level=50, provisional=True))
    await desk.ask("a", dispatched=True, tok=10)
    desk.tell("a", WindowReading("tok", 500))
    assert (await desk.window("tok")).provisional
    desk.tell("a", WindowReading("tok", 5000, 6000, "bucket", DAY_MS))
    state = await desk.window("tok")
    assert (state.cap, state.level, state.held, state.provisional) == (6000, 5000, 10, False)


async def test_an_answer_from_before_a_boundary_says_nothing_of_the_turn_after_it(
    desk: Desk,
) -> None:
    await desk.define(fixed("day", 100, ends_in_ms=1000))
    await desk.ask("a", dispatched=True, day=1)
    desk.clock.pass_(1500)
    desk.tell("a", read(0, name="day"))
    assert await desk.level("day") == 100


async def test_a_refusal_empties_its_window_until_the_time_it_names_and_widens_its_margin(
    desk: Desk,
) -> None:
    await desk.define(bucket("req", 30), bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=1000, req=1)
    desk.reject("a", "tok", 7000)
    state = await desk.window("tok")
    assert (state.level, state.blocked_ms, state.margin) == (300, 7000, 120)
    assert await desk.level("req") == 30
    desk.clock.pass_(6999)
    answer = await desk.probe("b", tok=10)
    assert isinstance(answer, Waiting)
    assert answer.eta_ms == 1
    desk.clock.pass_(1)
    assert isinstance(await desk.probe("b", tok=10), Granted)


async def test_what_a_refusal_added_to_the_margin_halves_in_thirty_seconds(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=1000)
    desk.reject("a", "tok", 7000)
    desk.clock.pass_(30_000)
    assert (await desk.window("tok")).margin == pytest.approx(90)


async def test_refusals_never_make_the_margin_more_than_sixteen_parts_of_a_hundred(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 6000))
    for number in range(30):
        await desk.ask(f"a{number}", tok=0)
        desk.reject(f"a{number}", "tok", 0)
    assert (await desk.window("tok")).margin == pytest.approx(960)


async def test_a_refusal_without_a_time_waits_until_its_need_came_back(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), gauge("flying", 3))
    await desk.ask("a", dispatched=True, tok=1000, flying=1)
    desk.reject("a", "tok", None)
    assert (await desk.window("tok")).blocked_ms == 10_000
    await desk.ask("b", dispatched=True, flying=1)
    desk.reject("b", "flying", None)
    state = await desk.window("flying")
    assert (state.level, state.blocked_ms) == (3, 1000)


async def test_a_refusal_that_names_no_window_blocks_all_rates_and_empties_the_short(
    desk: Desk,
) -> None:
    await desk.define(fixed("day", 100, ends_in_ms=DAY_MS), gauge("flying", 2), bucket("tok", 6000))
    await desk.ask("a", dispatched=True, day=1, flying=1, tok=1000)
    desk.reject("a", None, 2000)
    states = (await desk.peek()).windows
    assert [state.blocked_ms for state in states] == [2000, 0, 2000]
    assert [state.level for state in states] == [100, 2, 800]


async def test_where_refused_requests_count_they_do_not_come_back(desk: Desk) -> None:
    await desk.define(bucket("m:requests:60", 30), bucket("m:tokens:60", 6000))
    entry = Entry((Ask("a", {"m:requests:60": 1, "m:tokens:60": 1000}),))
    await desk.ledger.admit(desk.pool, entry, dispatched=True)
    desk.reject("a", "m:tokens:60", 1000, counts=True)
    assert await desk.level("m:requests:60") == 29


async def test_a_refusal_takes_its_readings_in(desk: Desk) -> None:
    await desk.define(bucket("req", 30), bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=10, req=1)
    refusal = Refusal("a", "tok", 1000, [WindowReading("req", 7)])
    desk.ledger.reject(desk.pool, refusal)
    assert await desk.level("req") == 7


@pytest.mark.parametrize("cap", [60, 30_000])
async def test_of_a_refusal_nothing_is_learned_of_what_others_take(desk: Desk, cap: int) -> None:
    await desk.define(bucket("req", cap))
    await desk.ask("a", dispatched=True, req=1)
    desk.clock.pass_(20)
    seen = [read(cap - 1, cap, "req")]
    desk.ledger.settle(desk.pool, Settlement("a", {"req": 1}, readings=seen))
    await desk.ask("b", dispatched=True, req=1)
    desk.clock.pass_(20)
    desk.ledger.reject(desk.pool, Refusal("b", "req", 1000, [read(0, cap, "req")]))

    desk.clock.pass_(3000)

    assert (await desk.window("req")).drain == 0
    assert isinstance(await desk.probe("c", req=1), Granted)


async def test_what_was_sent_later_is_summed_over_any_span(desk: Desk) -> None:
    await desk.define(bucket("tok", 30_000_000, level=20_000_000))
    await desk.ask("a", dispatched=True, tok=1)
    later = 0
    for number, passed in enumerate((1, 30, 32, 33, 991, 1024, 1025, 40_000)):
        desk.clock.pass_(passed)
        await desk.ask(f"b{number}", dispatched=True, tok=10**number)
        later += 10**number
    desk.settle("b3", tok=7)
    desk.cancel("b1")
    await desk.ask("unsent", tok=500)
    later += 7 - 10**3 - 10 + 500
    desk.tell("a", read(25_000_000, 30_000_000))
    passed_ms = 1 + 30 + 32 + 33 + 991 + 1024 + 1025 + 40_000
    assert await desk.level("tok") == pytest.approx(
        min(25_000_000 - later + passed_ms * 500, 30_000_000), abs=1
    )


async def test_a_granted_call_that_was_dispatched_since_counts_from_when_it_was(
    desk: Desk,
) -> None:
    await desk.define(bucket("tok", 30_000))
    await desk.ask("early", tok=1000)
    desk.dispatch("early")
    desk.clock.pass_(10)
    await desk.ask("a", dispatched=True, tok=1000)
    desk.clock.pass_(10)
    desk.tell("a", read(20_000, 30_000))  # "early" is in it
    assert await desk.level("tok") == pytest.approx(20_000 + 10 * 0.5)
