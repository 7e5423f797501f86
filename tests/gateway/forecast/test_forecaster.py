"""What is told of runs at an account that has a ledger, and a time of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import anyio
import pytest

from gateway.forecast import forecaster as forecasting
from gateway.forecast.seats import usual_calls, with_equals
from gateway.forecast.told import at_step
from gateway.policy.keys import Caller
from gateway.stores.ledger import Ask, Entry, Settlement, StoreLost, WindowSpec
from pricing.price import Price
from techniques.core.errors import Denied, RequestRejected, Unavailable, UnknownModel
from techniques.core.groups import task_group
from tests.gateway.forecast.agents import Case, World


async def test_the_same_question_has_the_same_answer_and_nothing_is_consumed_or_learned() -> None:
    world = World()
    await world.learn()
    before = await world.ledger.peek(world.account.pool)

    first, second = await world.forecast(), await world.forecast()
    other = await world.forecast(seed=7)

    assert first == second
    assert first["p50"] != other["p50"]
    assert await world.ledger.peek(world.account.pool) == before


async def test_a_forecast_of_windows_that_nobody_has_defined_yet_defines_none() -> None:
    world = World()

    told = await world.forecast()

    assert (await world.ledger.peek(world.account.pool)).windows == ()
    assert told["p50"]["waiting_s"] > 0  # a tenth of the window is taken to be there


async def test_what_calls_will_hold_is_waited_for_as_at_the_ledger_itself() -> None:
    world = World(Case(steps=1, first=3000, growth=0, spread=0))
    await world.learn()
    first = await world.forecast()
    await world.call(5000)
    full = await world.forecast()

    assert first["p50"]["waiting_s"] == 0
    assert full["p50"]["waiting_s"] > 15
    assert full["binding"] == {"window": "*:tokens:60", "share": 1.0}


async def test_a_run_that_waits_for_nothing_is_never_told_to_wait_less_than_nothing() -> None:
    world = World(Case(steps=30), windows=(WindowSpec("*:tokens:60", "bucket", 10**9),))
    await world.learn()

    told = [await world.forecast(seed=seed) for seed in range(5)]

    assert all(str(one["p50"]["waiting_s"]) == "0.0" for one in told)
    assert not any("-0.0" in one["text"] for one in told)


async def test_who_waits_in_the_line_already_goes_first() -> None:
    world = World(Case(steps=1, first=3000, growth=0, spread=0))
    await world.learn()
    await world.call(5500)
    alone = await world.forecast()
    for place in range(3):
        await world.ledger.admit(
            world.account.pool, Entry((Ask(f"q{place}", {"*:tokens:60": 3000}),))
        )

    crowded = await world.forecast()

    assert crowded["p50"]["waiting_s"] > alone["p50"]["waiting_s"] + 60


async def test_calls_under_way_give_their_places_back() -> None:
    world = World(Case(steps=1), windows=(WindowSpec("*:concurrency:0", "gauge", 1),))
    await world.learn(20)
    entry = Entry((Ask("theirs", {"*:concurrency:0": 1}),))
    await world.ledger.admit(world.account.pool, entry, dispatched=True)

    told = await world.forecast()

    assert 0 < told["p50"]["waiting_s"] < 6
    assert told["completes"] == 1
    assert told["binding"]["window"] == "*:concurrency:0"


async def test_what_calls_under_way_do_not_use_of_their_holds_comes_back() -> None:
    world = World(Case(steps=1, first=3000, growth=0, spread=0))
    await world.learn()
    flying = Entry((Ask("theirs", {"*:tokens:60": 5900}),))
    await world.ledger.admit(world.account.pool, flying, dispatched=True)
    held = await world.forecast(max_tokens=3000)  # as calls that are held twice what they use
    world.ledger.settle(world.account.pool, Settlement("theirs", {"*:tokens:60": 5900}))

    spent = await world.forecast(max_tokens=3000)

    assert held["p50"]["waiting_s"] < spent["p50"]["waiting_s"] - 10


@pytest.mark.parametrize(
    ("steps", "told"),
    [([None, None, 3], None), ([None, 3], 3), ([2, 5, None, 4], 4), ([None], None)],
)
def test_a_step_is_told_where_half_of_the_walks_have_ended(
    steps: list[int | None], told: int | None
) -> None:
    assert at_step(steps) == told


async def test_the_chance_is_the_share_of_walks_that_are_done_in_time() -> None:
    world = World()
    await world.learn()
    told = await world.forecast()

    half, most, none, all_of_them = [
        (await world.forecast(deadline_ms=round(1000 * seconds)))["chance"]
        for seconds in (told["p50"]["wall_s"], told["p90"]["wall_s"], 0.001, 10_000)
    ]

    assert told["chance"] is None
    assert (half, most) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.9, abs=0.01))
    assert (none, all_of_them) == (0, 1)


async def test_a_price_that_is_not_known_is_said_and_not_guessed() -> None:
    world = World(price=None)
    await world.learn(20)

    told = await world.forecast()

    assert (told["p50"]["usd"], told["p90"]["usd"]) == (None, None)
    assert told["usd_unknown"] == "The price of fast is not known."
    assert "an unknown price" in told["text"]


async def test_dollars_are_those_of_the_tokens() -> None:
    world = World(Case(steps=2, first=1000, growth=0, spread=0))
    await world.learn()

    told = await world.forecast(grows=False)

    assert told["p50"]["usd"] == "0.0026"  # twice 1,000 in at 1 dollar a million, 150 out at 2
    assert told["usd_unknown"] is None


async def test_where_the_context_ends_is_told() -> None:
    world = World(Case(first=500, growth=300, spread=0), context=1600)
    await world.learn(20)

    told = await world.forecast(deadline_ms=10_000_000)

    assert told["context_wall_at_step"] == 4  # 500, 950, 1,400, 1,850
    assert (told["completes"], told["chance"]) == (0, 0)  # in time, and not done
    assert "step 4 is too large" in told["text"]


async def test_lengths_that_nobody_has_counted_are_said_to_be_guessed() -> None:
    told = await World().forecast()

    assert told["ground"] == {"answers": "none", "samples": 0}
    assert [note.partition(":")[0] for note in told["notes"]] == [
        "Too few answers like these have been counted",
        "Too few answers have been timed",
    ]


async def test_messages_are_counted_by_what_the_provider_counted_before() -> None:
    world = World(Case(spread=0))
    await world.learn()
    words = [{"role": "user", "content": "x" * 3944}]  # 4,000 bytes with its frame

    told = await world.forecast(messages=words, tokens_per_step=None, growth_per_step=None, steps=2)

    # 1,000, then as much again from the user, with the answer
    assert told["p50"]["input_tokens"] == pytest.approx(1000 + 1000 + 150 + 990, abs=15)


async def test_a_callers_own_limits_and_budgets_are_in_it() -> None:
    world = World(Case(steps=5, first=100, growth=0, spread=0, tpm=100_000))
    await world.learn()

    told = await world.forecast(Caller("app", rpm=2), grows=False)

    assert told["binding"]["window"] == "app:requests:60"
    assert (told["p50"]["holds"], told["p50"]["suspensions"]) == (0, 3)
    assert told["p50"]["waiting_s"] == pytest.approx(90, abs=15)


async def test_a_store_that_does_not_answer_is_said_to_be_lost() -> None:
    world = World()

    async def peek(pool: str) -> None:
        raise StoreLost

    world.ledger.peek = peek  # type: ignore[method-assign, assignment]

    with pytest.raises(Unavailable) as caught:
        await world.forecast()
    assert caught.value.code == "store_lost"


async def test_a_run_of_too_many_calls_is_refused_by_its_steps() -> None:
    with pytest.raises(RequestRejected, match="500 can be forecast") as caught:
        await World().forecast(steps=100, concurrency=6)
    assert (caught.value.param, caught.value.code) == ("steps", "invalid_value")


async def test_a_model_or_a_technique_that_there_is_not_is_refused() -> None:
    with pytest.raises(UnknownModel):
        await World().forecast(model="slow")
    with pytest.raises(RequestRejected, match="no technique 'magic'") as caught:
        await World().forecast(technique="magic")
    assert caught.value.param == "technique"
    with pytest.raises(Denied):
        await World().forecast(Caller("app", models=frozenset({"other"})))


async def test_only_so_many_may_wait_for_their_forecast() -> None:
    world, refused = World(Case(steps=3)), 0
    await world.learn(20)

    async def one() -> None:
        nonlocal refused
        try:
            await world.forecast()
        except Unavailable:
            refused += 1

    async with task_group() as group:
        for _ in range(10):
            group.start_soon(one)

    assert refused == 2
    assert (await world.forecast())["completes"] == 1  # all of them have left


async def test_others_have_their_turn_while_a_forecast_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forecasting, "_SLICE_S", 0.0)
    world, turns = World(Case(steps=20)), 0
    await world.learn(20)

    async def other() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with task_group() as group:
        group.start_soon(other)
        await world.forecast()
        group.cancel_scope.cancel()

    assert turns > 500  # 200 walks of 20 calls


@pytest.mark.parametrize(
    ("typical", "models", "calls"),
    [
        ("5", 1, 5),
        ("4.5", 1, 4),
        ("1 for each model, and 1", 3, 4),
        ("2 for each model", 3, 6),
        ("8; 5 with tests", 1, 8),
        ("those of the technique that is chosen", 2, 1),
    ],
)
def test_the_usual_calls_of_a_technique_are_read_from_its_card(
    typical: str, models: int, calls: int
) -> None:
    assert usual_calls(typical, models) == calls


async def test_point_takes_the_live_window() -> None:
    world = World(Case(tpm=1000))
    await world.open()

    told = await world.forecast(
        method="point", steps=3, tokens_per_step=400, growth_per_step=None, wait_threshold_s=60.0
    )

    assert (told["waits"], told["waiting_s"], told["tokens"]) == (1, 17.25, 1200)


async def test_point_prices_each_step_by_its_own_size() -> None:
    dear = Price(9_000_000, 9_000_000)
    world = World(Case(tpm=1000), price=Price(1_000_000, 1_000_000, tiers=((500, dear),)))
    await world.open()

    told = await world.forecast(
        method="point", steps=3, tokens_per_step=400, growth_per_step=None, wait_threshold_s=60.0
    )

    assert (told["tokens"], told["usd"]) == (1200, "0.0012")


def test_further_accounts_of_a_model_stand_behind_all_seats() -> None:
    named = [Named("fast", ("fast-b", "fast-c")), Named("judge"), Named("fast", ("fast-b",))]
    seats: Any = [(model, f"r{place}") for place, model in enumerate(named)]

    everyone: Any
    everyone, equals = with_equals(seats)

    assert equals == {0: (3, 4), 1: (), 2: (5,)}
    assert everyone[3:] == [("fast-b", "r0"), ("fast-c", "r0"), ("fast-b", "r2")]


@dataclass(frozen=True)
class Named:
    """A model, as far as seats look at it."""

    name: str
    others: tuple[str, ...] = ()
