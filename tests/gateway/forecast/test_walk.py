"""Walks through windows that are set up by hand: every figure can be worked out."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from gateway.admission.need.traits import Traits
from gateway.admission.purse import Purse
from gateway.admission.windows import Window
from gateway.forecast.outcome import Outcome
from gateway.forecast.walk import Walk
from gateway.forecast.world import AnyWindow, Charged, Flying, Journey, Lane, Part, World
from pricing.price import Price

LANE = Lane(
    name="fast",
    group=0,
    charged=(Charged(0, "tokens"),),
    outputs=(50.0,),
    firsts=(1.0,),
    paces=(0.02,),
    bound=50,
    spread=1.0,
    traits=Traits(),
    rules=("actual", "actual"),
    price=Price(1_000_000, 2_000_000),
    context=None,
)
ONE = ((Part(0),),)


def bucket(cap: int, level: float | None = None, name: str = "fast:tokens:60") -> Window:
    return Window(name, "bucket", cap, cap if level is None else level, 0, 60_000)


def gauge(cap: int, held: int = 0) -> Window:
    return Window("fast:concurrency:0", "gauge", cap, cap - held, 0, held=held)


def world(*windows: AnyWindow, lane: Lane = LANE) -> World:
    return World(windows, tuple(it.name for it in windows), (lane,), (ONE,))


def walked(world: World, journey: Journey, seed: int = 1) -> Outcome:
    walk = Walk(world, journey, Random(seed))
    for _ in walk.go():
        pass
    return walk.outcome


def test_a_run_that_fits_only_works() -> None:
    came = walked(world(bucket(10_000)), Journey(3, 100, grows=False))

    assert (came.steps, came.input, came.output, came.tokens) == (3, 300, 150, 450)
    assert (came.wall_ms, came.work_ms, came.waiting_ms) == (6000, 6000, 0)
    assert (came.holds, came.suspensions, came.wall_step) == (0, 0, None)
    assert came.cost((LANE,)) == 300 * 1_000_000 + 150 * 2_000_000


def test_each_input_is_the_one_before_with_its_answer_and_the_users_words() -> None:
    came = walked(world(bucket(100_000)), Journey(3, 100, growth=7))

    assert came.input == 100 + 157 + 214


def test_a_full_window_is_waited_for_until_it_has_room() -> None:
    # 96 a second come back, but a hundredth of the window is left alone
    came = walked(world(bucket(6000, 60)), Journey(1, 950, grows=False))

    assert came.waiting_ms == 10_000
    assert (came.holds, came.suspensions, came.bound) == (1, 0, {0: 10_000})
    assert came.wall_ms == came.work_ms + came.waiting_ms


def test_a_wait_beyond_patience_is_a_suspension() -> None:
    impatient = replace(world(bucket(6000, 60)), patience_ms=5000.0)

    came = walked(impatient, Journey(1, 950, grows=False))

    assert (came.holds, came.suspensions, came.waiting_ms) == (0, 1, 10_000)


def test_what_a_call_did_not_use_of_its_hold_comes_back() -> None:
    generous = replace(LANE, bound=2000)

    came = walked(world(bucket(6000), lane=generous), Journey(3, 500, grows=False))

    assert came.waiting_ms == 0  # three holds of 2,500 would not fit


def test_a_fixed_window_is_waited_for_until_its_boundary() -> None:
    fixed = Window("fast:tokens:60", "fixed", 1000, 100, 0, 60_000, ends=20_000)

    came = walked(world(fixed), Journey(1, 950, grows=False))

    assert came.waiting_ms == 20_000


def test_nobody_passes_before_a_block_has_ended() -> None:
    blocked = bucket(6000)
    blocked.blocked = 7000

    assert walked(world(blocked), Journey(1, 100)).waiting_ms == 7000


def test_what_others_drain_makes_the_wait_longer() -> None:
    drained = bucket(6000, 60)
    drained.ext = drained.rate / 2

    assert walked(world(drained), Journey(1, 950)).waiting_ms == 20_000


def test_those_who_wait_already_go_first() -> None:
    crowded = replace(world(bucket(6000, 60)), queued=((0, 950), (0, 950)))

    came = walked(crowded, Journey(1, 950, grows=False))

    assert came.waiting_ms == 30_000
    assert came.input == 950  # what others use is not ours


def test_agents_share_the_windows_and_the_last_one_ends_the_run() -> None:
    came = walked(world(bucket(6000, 1060)), Journey(1, 950, agents=3))

    assert (came.steps, came.input) == (3, 2850)
    assert came.waiting_ms == 20_000
    assert came.wall_ms == 22_000


def test_calls_at_once_wait_for_each_other() -> None:
    lane = replace(LANE, charged=(Charged(0, "concurrency"),))

    came = walked(world(gauge(1), lane=lane), Journey(1, 100, agents=3))

    assert (came.wall_ms, came.waiting_ms) == (6000, 4000)


def test_a_place_that_another_call_has_is_free_when_that_has_ended() -> None:
    lane = replace(LANE, charged=(Charged(0, "concurrency"),))
    busy = replace(world(gauge(1, held=1), lane=lane), flying=(Flying(0, 1, 1.0),))

    came = walked(busy, Journey(1, 100))

    assert 0 < came.waiting_ms < 2000
    assert came.steps == 1


def test_a_step_that_is_larger_than_the_window_is_the_wall() -> None:
    came = walked(world(bucket(1000)), Journey(9, 500, growth=300))

    assert (came.wall_step, came.steps) == (3, 2)


def test_a_bound_that_is_larger_than_the_window_goes_alone() -> None:
    came = walked(world(bucket(1000), lane=replace(LANE, bound=5000)), Journey(1, 500))

    assert (came.wall_step, came.steps) == (None, 1)


def test_a_step_that_is_larger_than_the_context_is_the_wall() -> None:
    lane = replace(LANE, context=300)

    came = walked(world(bucket(10_000), lane=lane), Journey(9, 200, growth=50))

    assert (came.wall_step, came.steps) == (2, 1)


def test_an_answer_is_no_longer_than_the_context_has_room_for() -> None:
    came = walked(world(bucket(10_000), lane=replace(LANE, context=230)), Journey(1, 200))

    assert came.output == 30


def test_an_answer_is_no_longer_than_is_allowed() -> None:
    lane = replace(LANE, traits=Traits(max_tokens=20))

    assert walked(world(bucket(10_000), lane=lane), Journey(1, 200)).output == 20


def test_a_budget_that_leaves_too_little_ends_the_run() -> None:
    each = 100 * 1_000_000 + 50 * 2_000_000
    purse = Purse("k:usd:2026-01-01", 10 * each, 2 * each, 2 * each)
    lane = replace(LANE, charged=(Charged(0, "usd", own=True),))

    came = walked(world(purse, lane=lane), Journey(9, 100, grows=False))

    assert (came.broke_step, came.steps, came.wall_step) == (3, 2, None)


def test_a_limit_of_the_callers_own_is_no_hold() -> None:
    lane = replace(LANE, charged=(Charged(0, "requests", own=True, by_step=True),))

    came = walked(world(bucket(2, name="k:requests:60"), lane=lane), Journey(3, 100))

    assert (came.holds, came.suspensions, came.steps) == (0, 1, 3)


def test_a_step_takes_of_its_callers_requests_once_and_holds_its_place_to_the_end() -> None:
    requests, place = bucket(4, name="k:requests:60"), gauge(1)
    own = (
        Charged(0, "requests", own=True, by_step=True),
        Charged(1, "concurrency", own=True, by_step=True),
    )
    two = (((Part(0), Part(0)), (Part(0),)),)
    walk = replace(world(requests, place, lane=replace(LANE, charged=own)), shapes=two)

    came = walked(walk, Journey(2, 100, grows=False, agents=2))

    assert came.steps == 4  # of twelve calls; the second agent waits for both waves of the first
    assert came.wall_ms == 4 * 4000


def test_calls_of_a_wave_go_together_and_waves_one_after_the_other() -> None:
    fan = (((Part(0), Part(0), Part(0)), (Part(0, ratio=2.0),)),)
    walk = replace(world(bucket(10_000)), shapes=fan)

    came = walked(walk, Journey(1, 100))

    assert (came.wall_ms, came.input, came.output) == (4000, 500, 200)


def test_what_the_provider_has_cached_costs_less() -> None:
    price = Price(1_000_000, 2_000_000, cache_read=100_000)
    lane = replace(LANE, price=price)
    walk = replace(world(bucket(10_000), lane=lane), shapes=(((Part(0, cached=0.5),),),))

    cost = walked(walk, Journey(1, 100)).cost((lane,))

    assert cost == 50 * 1_000_000 + 50 * 100_000 + 50 * 2_000_000


def test_each_call_has_the_price_of_a_request() -> None:
    lane = replace(LANE, price=Price(0, 0, per_request=7))

    assert walked(world(bucket(10_000), lane=lane), Journey(3, 10)).cost((lane,)) == 21


def test_each_call_is_priced_by_its_own_size_and_not_by_that_of_all() -> None:
    price = Price(1, 0, tiers=((150, Price(1000, 0)),))
    lane = replace(LANE, price=price)

    came = walked(world(bucket(10_000), lane=lane), Journey(3, 100, grows=False))

    assert (came.input, came.cost((lane,))) == (300, 300)


@pytest.mark.parametrize("rule", ["reserve_max", "unknown"])
def test_a_provider_that_reserves_what_is_allowed_is_held_all_of_it(rule: str) -> None:
    traits = Traits(max_tokens=4000)
    lane = replace(LANE, traits=traits, rules=(rule, rule))  # type: ignore[arg-type]

    came = walked(world(bucket(6000), lane=lane), Journey(2, 500, grows=False))

    assert came.waiting_ms > 20_000  # 4,500 a call, of 6,000 a minute


def test_without_windows_nothing_is_waited_for() -> None:
    came = walked(world(lane=replace(LANE, charged=())), Journey(5, 100))

    assert (came.steps, came.waiting_ms) == (5, 0)


def test_the_same_dice_walk_the_same_way_and_others_another() -> None:
    lane = replace(LANE, outputs=tuple(map(float, range(10, 400, 10))))
    journey = Journey(9, 400)

    same = [walked(world(bucket(3000), lane=lane), journey, seed).wall_ms for seed in (1, 1, 2)]

    assert same[0] == same[1] != same[2]


def test_a_walk_leaves_the_windows_as_they_are() -> None:
    window = bucket(6000, 3000)

    walked(world(window), Journey(5, 900))

    assert (window.level, window.held, window.at) == (3000, 0, 0)


def test_lines_of_accounts_that_share_nothing_do_not_hold_each_other() -> None:
    lanes = (LANE, replace(LANE, group=1, charged=(Charged(1, "tokens"),)))
    windows = (bucket(6000, 60), bucket(6000, name="large:tokens:60"))
    both = World(windows, ("a", "b"), lanes, (((Part(0),), (Part(1),)),), queued=((0, 5000),))

    alone = walked(replace(both, shapes=(((Part(1),),),)), Journey(1, 950))

    assert alone.waiting_ms == 0
    assert walked(both, Journey(1, 950)).waiting_ms > 50_000


def test_more_is_held_than_is_used_as_far_as_inputs_are_not_known() -> None:
    unsure = replace(LANE, spread=3.0)

    sure = walked(world(bucket(6000)), Journey(3, 1900, grows=False)).waiting_ms
    came = walked(world(bucket(6000), lane=unsure), Journey(3, 1900, grows=False)).waiting_ms

    assert sure == 0
    assert came > 10_000  # 5,750 are held each time, of 6,000


def two_accounts(first: Window, second: Window) -> World:
    lanes = (
        replace(LANE, equals=(1,)),
        replace(LANE, group=1, charged=(Charged(1, "tokens"),)),
    )
    return World((first, second), ("a", "b"), lanes, (ONE,))


def test_a_call_goes_to_the_account_that_can_take_it_soonest() -> None:
    far, near = bucket(6000, 60), bucket(6000, 560)

    came = walked(two_accounts(far, near), Journey(1, 950, grows=False))

    assert (came.waiting_ms, came.bound) == (5000, {1: 5000})
    assert came.sums[1].calls == 1


def test_calls_at_once_are_shared_among_accounts() -> None:
    came = walked(two_accounts(bucket(6000), bucket(6000)), Journey(1, 4000, agents=2))

    assert came.waiting_ms == 0
    assert {place: calls.calls for place, calls in came.sums.items()} == {0: 1, 1: 1}


def test_who_waits_at_an_account_already_stays_there() -> None:
    crowded = replace(two_accounts(bucket(6000, 60), bucket(6000)), queued=((0, 5000),))

    came = walked(crowded, Journey(1, 5000, grows=False))

    assert (came.waiting_ms, came.sums[1].calls) == (0, 1)
