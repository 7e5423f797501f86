"""What a technique asks for at one moment goes together, or waits together."""

from __future__ import annotations

import anyio
import pytest

from gateway.channels.admitted import AdmittedChannel
from gateway.channels.metered import MeteredChannel
from gateway.pacing.run import Run
from gateway.stores.ledger import Ask, Entry
from techniques.core.channel import ask
from techniques.core.groups import task_group
from tests.gateway.pacing.provider import Answer, Provider
from tests.gateway.pacing.scene import PRICE, QUESTION, TARGET, Paced, per_minute

TEN = per_minute("requests", 10)


async def panel(paced: Paced, provider: Provider, calls: int, run: Run | None = None) -> None:
    """Make so many calls of one run at once."""
    run = run or paced.run(use="self_consistency")
    metered = MeteredChannel(provider, TARGET, PRICE, paced.ledger)
    channel = AdmittedChannel(metered, paced.model(provider), run)
    async with task_group() as group:
        for _ in range(calls):
            group.start_soon(ask, channel, QUESTION)


async def leave_only(paced: Paced, requests: int) -> None:
    """Take all of the ten but *requests*."""
    await paced.store.define(paced.account.pool, [TEN])
    taken = Entry((Ask("others", {TEN.name: 10 - requests}),))
    await paced.store.admit(paced.account.pool, taken, dispatched=True)


async def test_half_a_panel_does_not_go_before_the_other_half() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 3)
    began = anyio.current_time()

    await panel(paced, provider, 5)

    assert [at - began for at in provider.began] == pytest.approx([12] * 5, abs=0.01)


async def test_a_panel_that_fits_goes_at_once() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 5)
    began = anyio.current_time()

    await panel(paced, provider, 5)

    assert provider.began == [began] * 5


async def test_a_panel_of_more_than_half_a_window_goes_call_by_call() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 3)
    began = anyio.current_time()

    await panel(paced, provider, 6)

    waits = [at - began for at in provider.began]
    assert waits == pytest.approx([0, 0, 0, 6, 12, 18], abs=0.01)


async def test_calls_of_a_panel_one_after_the_other_do_not_wait_for_each_other() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 1)
    run = paced.run(use="self_refine")

    await panel(paced, provider, 1, run)

    assert len(provider.began) == 1


async def test_a_panel_that_is_left_leaves_nothing_behind() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 0)

    with anyio.move_on_after(3):
        await panel(paced, provider, 4)

    state = await paced.store.peek(paced.account.pool)
    assert (state.queued, state.leases) == (0, 1)


async def test_one_that_leaves_a_panel_takes_nothing_from_the_others() -> None:
    paced, provider = Paced((TEN,)), Provider(Answer(takes_s=0))
    await leave_only(paced, 0)
    run = paced.run(use="self_consistency")
    metered = MeteredChannel(provider, TARGET, PRICE, paced.ledger)
    channel = AdmittedChannel(metered, paced.model(provider), run)

    async def impatient() -> None:
        with anyio.move_on_after(2):
            await ask(channel, QUESTION)

    async with task_group() as group:
        for _ in range(3):
            group.start_soon(ask, channel, QUESTION)
        group.start_soon(impatient)

    state = await paced.store.peek(paced.account.pool)
    assert len(provider.began) == 3
    assert (state.queued, state.leases, state.windows[0].held) == (0, 1, 10)
