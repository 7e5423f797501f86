"""A step of a run keeps what the row of its call says: one call has one cost."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.channels.journaled import DispatchedChannel, JournaledChannel
from gateway.channels.metered import MeteredChannel
from gateway.metering.ledger import Ledger
from gateway.policy.models import Model
from gateway.runs.live import LiveRun
from gateway.runs.terms import Stop
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import StepRecord
from gateway.upstream.provider import Target
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Channel
from techniques.core.errors import StreamBroken
from techniques.core.events import Event, Finished, TextDelta, ThinkingDelta, UsageReported
from techniques.core.request import Image, Message, Request, Text
from tests.gateway.channels.test_metered import Playing
from tests.gateway.runs.scene import Straight, now_ms
from tests.gateway.runs.test_live import taken_up

PRICE = Price(10, 100, reasoning=1000, image=7, name="dear", modes=(("flex", Price(1, 2)),))
PICTURED = Request("m", (Message("user", (Text("what?"), Image("https://x/1.png"))),))
TEXT, COUNTED = TextDelta("x" * 40), UsageReported(Usage(7, 30))
ANSWERS = {
    "counted": (TEXT, COUNTED),
    "reasoning not told": (ThinkingDelta("x" * 40), TEXT, COUNTED),
    "not counted": (TEXT,),
    "counted as nothing": (TEXT, UsageReported(Usage())),
    "served otherwise": (TEXT, UsageReported(Usage(7, 30), "flex")),
    "billed": (TEXT, UsageReported(Usage(7, 30), charged=5)),
    "billed, and not counted": (TEXT, UsageReported(Usage(), charged=5)),
}


async def sent(provider: Channel, price: Price | None) -> tuple[Ledger, LiveRun]:
    """Ask *provider* within a run, whatever comes of it."""
    run = await taken_up(MemoryJournal(now_ms))
    target = Target("m", "p", "m", bills=True)
    model = Model(Straight(provider, target), price)  # type: ignore[arg-type]
    dispatched = DispatchedChannel(provider, model, run)
    metered = MeteredChannel(dispatched, target, price, run.ledger)
    channel = JournaledChannel(metered, run, ("0", model))
    try:
        async with channel.open(PICTURED) as events:
            async for _ in events:
                pass
    except StreamBroken:
        pass
    return run.ledger, run


def step_of(run: LiveRun) -> StepRecord:
    (step,) = run.steps.values()
    return step


@pytest.mark.parametrize("source", ["operator", "table", None])
@pytest.mark.parametrize("events", ANSWERS.values(), ids=ANSWERS)
async def test_the_step_of_an_answer_costs_what_its_row_says(
    events: tuple[Event, ...], source: str | None
) -> None:
    price = None if source is None else replace(PRICE, source=source)  # type: ignore[arg-type]

    ledger, run = await sent(Playing(*events, Finished()), price)

    (row,), step = ledger.rows, step_of(run)
    assert (step.state, row.outcome) == ("completed", "ok")
    assert step.cost == row.cost
    counted = None if row.estimated else (row.usage.input_tokens, row.usage.output_tokens)
    assert step.tokens == counted
    assert price is None or step.cost


async def test_a_step_whose_answer_broke_off_has_no_cost_and_its_row_has() -> None:
    ledger, run = await sent(Playing(TEXT, failure=StreamBroken("cut")), PRICE)

    (row,) = ledger.rows
    assert row.cost
    assert (step_of(run).state, step_of(run).cost) == ("failed", None)


async def test_a_whole_answer_costs_what_was_counted_though_its_call_is_cancelled() -> None:
    left = Ledger()
    channel = MeteredChannel(Playing(TEXT, COUNTED, Finished()), Target("m", "p", "m"), PRICE, left)
    async with channel.open(PICTURED) as events:
        async for event in events:
            if isinstance(event, Finished):
                break

    (row,) = left.rows
    assert (row.outcome, row.estimated) == ("cancelled", False)
    assert row.usage == Usage(7, 30, images=1)


async def test_a_call_that_is_called_off_before_it_is_written_down_costs_nothing() -> None:
    run = await taken_up(MemoryJournal(now_ms))
    run.halt(Stop("left"))  # nothing is sent any more
    target, provider = Target("m", "p", "m"), Playing(TEXT, Finished())
    model = Model(Straight(provider, target), None)  # type: ignore[arg-type]
    metered = MeteredChannel(DispatchedChannel(provider, model, run), target, None, run.ledger)

    with anyio.move_on_after(1):
        async with metered.open(replace(PICTURED, journaled="0")):
            pytest.fail("it was sent")

    (row,) = run.ledger.rows
    assert (row.outcome, row.cost, row.estimated) == ("cancelled", 0, False)
