"""When a window of fixed turns begins anew, by what answers say of it."""

from __future__ import annotations

import pytest

from gateway.stores.ledger import Granted, Waiting, WindowReading
from tests.contract.ledger_store.desk import MINUTE_MS, Desk, fixed

pytestmark = pytest.mark.anyio


def told(remaining: int | None, reset_ms: int) -> WindowReading:
    return WindowReading("min", remaining, 10, "fixed", MINUTE_MS, reset_ms)


async def ends_in(desk: Desk) -> int:
    ends_in_ms = (await desk.window("min")).ends_in_ms
    assert ends_in_ms is not None
    return ends_in_ms


async def test_of_what_answers_say_of_a_boundary_the_earliest_stands(desk: Desk) -> None:
    await desk.define(fixed("min", 10, 40_000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=1)
    await desk.ask("b", dispatched=True, min=1)
    desk.tell("a", told(9, 30_000))
    assert await ends_in(desk) == 30_000
    desk.clock.pass_(2000)
    desk.tell("b", told(8, 30_000))  # it was sent two seconds ago: no later than that it was said
    assert await ends_in(desk) == 28_000


async def test_a_boundary_that_cannot_be_so_early_is_put_off(desk: Desk) -> None:
    await desk.define(fixed("min", 10, 10_000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=1)
    desk.tell("a", told(9, 30_000))
    assert await ends_in(desk) == 30_000


async def test_an_answer_of_the_turn_before_moves_no_boundary_and_tells_nothing(
    desk: Desk,
) -> None:
    await desk.define(fixed("min", 10, 5000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=1)
    desk.clock.pass_(7000)
    desk.tell("a", told(0, 5000))
    assert await ends_in(desk) == 58_000
    assert await desk.level("min") == 10


async def test_a_turn_that_has_begun_before_it_was_thought_to_is_as_it_is_told(desk: Desk) -> None:
    await desk.define(fixed("min", 10, 3000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=9)
    await desk.ask("b", dispatched=True, min=1)
    desk.tell("b", told(8, 59_000))
    assert await desk.level("min") == 8
    assert await ends_in(desk) == 59_000


async def test_a_refusal_for_less_than_the_turn_leaves_what_there_is_of_it(desk: Desk) -> None:
    await desk.define(fixed("min", 10, 40_000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=1)
    desk.reject("a", "min", 8000)
    assert isinstance(await desk.ask("b", min=1), Waiting)
    desk.clock.pass_(8000)
    assert isinstance(await desk.check("b"), Granted)


async def test_a_refusal_until_the_boundary_leaves_nothing(desk: Desk) -> None:
    await desk.define(fixed("min", 10, 40_000, MINUTE_MS))
    await desk.ask("a", dispatched=True, min=1)
    desk.reject("a", "min", 40_000)
    assert await desk.level("min") == 0
