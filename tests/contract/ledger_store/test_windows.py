"""What every ledger does with windows: holding, waiting, giving back, refilling."""

from __future__ import annotations

import pytest

from gateway.stores.ledger import Ask, Entry, Granted, Never, Place, Unknown, Waiting, WindowSpec
from tests.contract.ledger_store.desk import DAY_MS, MINUTE_MS, Desk, bucket, fixed, gauge, money

pytestmark = pytest.mark.anyio


async def test_what_is_granted_is_held(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), bucket("req", 30))
    assert isinstance(await desk.ask("a", tok=1500, req=1), Granted)
    assert await desk.level("tok") == 4500
    assert (await desk.window("tok")).held == 1500


async def test_the_same_lease_is_held_once_however_often_it_is_asked_for(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=1500)
    assert isinstance(await desk.ask("a", tok=1500), Granted)
    assert await desk.level("tok") == 4500


async def test_two_leases_of_one_caller_hold_twice(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=1500)
    await desk.ask("b", tok=1500)
    assert await desk.level("tok") == 3000


async def test_who_does_not_fit_is_told_the_millisecond_at_which_it_does(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=1500)
    answer = await desk.probe("b", tok=5000)
    assert answer == Waiting(5600, 0, "tok", getattr(answer, "tag", 0))  # (5000 + 60 - 4500) / 0.1
    desk.clock.pass_(5599)
    assert isinstance(await desk.probe("b", tok=5000), Waiting)
    desk.clock.pass_(1)
    assert isinstance(await desk.probe("b", tok=5000), Granted)


async def test_who_does_not_fit_changes_no_window(desk: Desk) -> None:
    await desk.define(bucket("req", 30), bucket("tok", 6000), money("usd", 900))
    await desk.ask("a", tok=5000)
    before = await desk.peek()
    await desk.probe("b", tok=5000, req=1, usd=100)
    assert await desk.peek() == before


async def test_more_than_a_window_ever_holds_is_never_granted(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), gauge("flying", 2))
    assert await desk.ask("a", tok=6001) == Never("tok", 6000)
    assert await desk.ask("a", flying=3) == Never("flying", 2)


async def test_a_need_as_large_as_its_window_is_granted_when_that_is_full(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=100)
    answer = await desk.probe("b", tok=6000)
    assert isinstance(answer, Waiting)
    assert answer.eta_ms == 1000
    desk.clock.pass_(1000)
    assert isinstance(await desk.probe("b", tok=6000), Granted)


async def test_the_margin_is_left_alone(desk: Desk) -> None:
    await desk.define(bucket("tok", 1000))
    await desk.ask("a", tok=900)
    assert isinstance(await desk.probe("b", tok=91), Waiting)
    assert isinstance(await desk.probe("b", tok=90), Granted)


async def test_a_window_that_is_not_defined_is_named(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    assert await desk.ask("a", tok=10, zzz=1) == Unknown("zzz")
    assert await desk.level("tok") == 6000


async def test_settling_gives_back_what_was_not_used(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=1500)
    desk.settle("a", tok=700)
    assert await desk.level("tok") == 5300


async def test_settling_charges_more_than_was_held_if_more_was_used(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=1500)
    desk.settle("a", tok=2000)
    assert await desk.level("tok") == 4000


async def test_what_a_settlement_does_not_name_is_charged_as_held(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), bucket("req", 30))
    await desk.ask("a", tok=1500, req=1)
    desk.settle("a", tok=0)
    assert await desk.level("req") == 29


async def test_settling_twice_is_settling_once(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), money("usd", 1000))
    await desk.ask("a", tok=1500, usd=500)
    desk.settle("a", tok=700, usd=200)
    desk.settle("a", tok=700, usd=200)
    assert await desk.level("tok") == 5300
    assert await desk.level("usd") == 800


async def test_a_later_settlement_corrects_an_earlier(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), money("usd", 1000))
    await desk.ask("a", tok=1500, usd=500)
    desk.settle("a", tok=700, usd=200)
    desk.settle("a", tok=900, usd=300)
    assert await desk.level("tok") == 5100
    assert await desk.level("usd") == 700


async def test_a_cancelled_lease_comes_back_whole(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), money("usd", 100), gauge("flying", 1))
    await desk.ask("a", tok=1500, usd=100, flying=1)
    desk.cancel("a")
    assert [w.level for w in (await desk.peek()).windows] == [1, 6000, 100]
    desk.cancel("a")
    assert [w.level for w in (await desk.peek()).windows] == [1, 6000, 100]


async def test_a_full_gauge_is_waited_for_without_a_time(desk: Desk) -> None:
    await desk.define(gauge("flying", 2), bucket("tok", 6000), money("usd", 1000))
    await desk.ask("a", flying=1, tok=10, usd=100)
    await desk.ask("b", flying=1, tok=10, usd=100)
    answer = await desk.probe("c", flying=1, tok=10, usd=100)
    assert isinstance(answer, Waiting)
    assert (answer.eta_ms, answer.binding) == (None, "flying")
    assert await desk.level("usd") == 800


async def test_a_gauge_comes_back_whatever_was_used(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a", flying=1)
    desk.settle("a", flying=1)
    assert await desk.level("flying") == 1


async def test_a_gauge_that_grows_has_room_at_once(desk: Desk) -> None:
    await desk.define(gauge("flying", 1))
    await desk.ask("a", flying=1)
    await desk.define(gauge("flying", 3))
    assert await desk.level("flying") == 2
    desk.settle("a")
    assert await desk.level("flying") == 3


async def test_a_fixed_window_is_full_again_at_its_boundary_and_not_before(desk: Desk) -> None:
    await desk.define(fixed("day", 10, ends_in_ms=1000))
    await desk.ask("a", day=10)
    answer = await desk.probe("b", day=1)
    assert isinstance(answer, Waiting)
    assert answer.eta_ms == 1000
    desk.clock.pass_(999)
    assert await desk.level("day") == 0
    desk.clock.pass_(1)
    assert await desk.level("day") == 10
    assert (await desk.window("day")).ends_in_ms == DAY_MS


async def test_what_was_held_before_a_boundary_does_not_come_back_after_it(desk: Desk) -> None:
    await desk.define(fixed("min", 1000, ends_in_ms=1000, period_ms=MINUTE_MS))
    await desk.ask("a", min=600)
    desk.clock.pass_(1000)
    await desk.ask("b", min=1000)
    desk.settle("a", min=0)
    assert await desk.level("min") == 0


async def test_minute_and_day_hold_both_and_the_longer_wait_is_told(desk: Desk) -> None:
    await desk.define(bucket("req", 10), fixed("day", 3, ends_in_ms=7_200_000))
    for number in range(3):
        await desk.ask(f"a{number}", req=1, day=1)
    answer = await desk.probe("b", req=1, day=1)
    assert isinstance(answer, Waiting)
    assert (answer.eta_ms, answer.binding) == (7_200_000, "day")
    assert await desk.level("req") == 7


async def test_defining_again_never_makes_more_of_what_is_there(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", tok=5000)
    await desk.define(bucket("tok", 12_000))
    assert await desk.level("tok") == 1000
    assert (await desk.window("tok")).rate == pytest.approx(200)
    await desk.define(bucket("tok", 500))
    assert await desk.level("tok") == 500


async def test_defining_again_does_not_put_off_a_boundary(desk: Desk) -> None:
    await desk.define(fixed("day", 10, ends_in_ms=1000))
    desk.clock.pass_(400)
    await desk.define(fixed("day", 10, ends_in_ms=1000))
    assert (await desk.window("day")).ends_in_ms == 600


async def test_a_guessed_window_gives_way_to_a_definition_and_not_the_other_way(desk: Desk) -> None:
    guess = WindowSpec("tok", "bucket", 100, MINUTE_MS, provisional=True)
    await desk.define(guess)
    assert isinstance(await desk.ask("a", tok=500), Granted)  # a guess makes nothing impossible
    await desk.define(bucket("tok", 6000))
    state = await desk.window("tok")
    assert (state.cap, state.level, state.provisional) == (6000, 5500, False)
    await desk.define(guess)
    assert (await desk.window("tok")).cap == 6000


async def test_several_leases_are_granted_together_or_not_at_all(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000), gauge("flying", 2))
    wave = tuple(Ask(name, {"tok": 1000, "flying": 1}) for name in ("a", "b"))
    assert isinstance(await desk.ledger.admit(desk.pool, Entry(wave)), Granted)
    assert (await desk.peek()).leases == 2
    more = tuple(Ask(name, {"tok": 1000, "flying": 1}) for name in ("c", "d"))
    desk.settle("a")
    answer = await desk.ledger.admit(desk.pool, Entry(more, Place(queue=False)))
    assert isinstance(answer, Waiting)
    assert answer.binding == "flying"
    assert (await desk.peek()).leases == 1


async def test_two_pools_are_asked_in_one_go_and_neither_depends_on_the_other(desk: Desk) -> None:
    other = Desk(desk.ledger, desk.clock)
    await desk.define(money("usd", 10))
    await other.define(bucket("tok", 6000))
    answers = await desk.ledger.admit_both(
        (desk.pool, Entry((Ask("a", {"usd": 11}),))), (other.pool, Entry((Ask("b", {"tok": 1}),)))
    )
    assert answers[0] == Never("usd", 10)
    assert isinstance(answers[1], Granted)


async def test_holding_more_while_streaming_may_overdraw_and_widens_the_margin(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=5900)
    desk.extend("a", tok=300)
    state = await desk.window("tok")
    assert (state.level, state.held, state.margin) == (-200, 6200, 120)
    desk.settle("a", tok=6000)
    assert await desk.level("tok") == 0


async def test_holding_more_of_what_is_there_leaves_the_margin(desk: Desk) -> None:
    await desk.define(bucket("tok", 6000))
    await desk.ask("a", dispatched=True, tok=100)
    desk.extend("a", tok=300)
    assert (await desk.window("tok")).margin == 60
