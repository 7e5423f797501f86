"""Steps of one run: what is settled comes in its order, and what is not waits for it."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.channels.journaled import DispatchedChannel, JournaledChannel
from gateway.metering.ledger import Ledger
from gateway.policy.models import Model
from gateway.runs.live import LiveRun
from gateway.runs.pen import Held
from gateway.runs.terms import Terms
from gateway.stores.journal.journal import Claim, Claimed
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Standing, Stored
from gateway.upstream.provider import Target
from techniques.core.channel import ask
from techniques.core.request import Request, Tool, said
from techniques.testing import ScriptedChannel
from tests.gateway.runs.scene import PRICE, Straight, World, after, now_ms

QUESTION = Request("m", (said("user", "What is 6 * 7?"),))
RECORD = RunRecord(RunName("", "run"), "body", "plan", "secret", 0, technique="t")
DELAYS = {"slow": 3.0, "middle": 2.0, "quick": 1.0}


async def taken_up(journal: MemoryJournal) -> LiveRun:
    """Claim the run, with what is known of it."""
    answer = await journal.claim(Claim(RECORD, 15_000, again=True))
    assert isinstance(answer, Claimed)
    return LiveRun(Held(journal, answer.hold), answer.stored, Ledger(), Terms(clock=now_ms))


def channel(run: LiveRun, provider: ScriptedChannel) -> JournaledChannel:
    model = Model(Straight(provider, Target("m", "p", "m")), PRICE)  # type: ignore[arg-type]
    return JournaledChannel(DispatchedChannel(provider, model, run), run, ("0", model))


async def ended(run: LiveRun, provider: ScriptedChannel, steps: tuple[str, ...]) -> list[str]:
    """Ask for *steps* at once, and return them in the order in which they ended."""
    order: list[str] = []
    to = channel(run, provider)

    async def one(step: str) -> None:
        await ask(to, replace(QUESTION, step=step))
        order.append(step)

    async with anyio.create_task_group() as group:
        for step in steps:
            group.start_soon(one, step)
    return order


async def test_settled_steps_end_in_the_order_in_which_they_had_ended() -> None:
    journal = MemoryJournal(now_ms)
    provider = ScriptedChannel(lambda request: after(DELAYS[request.step]))
    run = await taken_up(journal)
    assert await ended(run, provider, tuple(DELAYS)) == ["quick", "middle", "slow"]
    await run.end(Standing("interrupted"))
    asked = len(provider.asked)
    again = await taken_up(journal)
    assert await ended(again, provider, tuple(DELAYS)) == ["quick", "middle", "slow"]
    assert len(provider.asked) == asked


async def test_a_call_that_is_not_settled_is_sent_when_all_that_is_has_been_heard() -> None:
    journal = MemoryJournal(now_ms)
    heard: list[str] = []

    def script(request: Request) -> object:
        heard.append(f"asked {request.step}")
        return after(0.0)

    provider = ScriptedChannel(script)  # type: ignore[arg-type]
    run = await taken_up(journal)
    await ended(run, provider, ("one", "two"))
    await run.end(Standing("interrupted"))
    again, heard[:] = await taken_up(journal), []
    to = channel(again, provider)

    async def one(step: str, wait_s: float) -> None:
        await anyio.sleep(wait_s)
        await ask(to, replace(QUESTION, step=step))
        heard.append(step)

    async with anyio.create_task_group() as group:
        group.start_soon(one, "new", 0)
        group.start_soon(one, "one", 0.2)
        group.start_soon(one, "two", 0.4)
    assert heard[:2] == ["one", "two"] or heard[:2] == ["two", "one"]
    assert heard[2:] == ["asked new", "new"]


async def test_a_run_without_a_seed_of_its_own_draws_the_same_again() -> None:
    journal = MemoryJournal(now_ms)
    run = await taken_up(journal)
    await run.end(Standing("interrupted"))
    again = await taken_up(journal)
    assert again.dice().random() == run.dice().random()
    other = Stored(replace(RECORD, secret="another"), Standing(), 1)
    apart = LiveRun(Held(journal, run.hold), other, Ledger())
    assert apart.dice().random() != run.dice().random()
    assert apart.fence() != run.fence()


@pytest.mark.parametrize(
    "change",
    [
        {"messages": (said("user", "What is 6 * 8?"),)},
        {"tools": (Tool("add"),)},
        {"sampling": replace(QUESTION.sampling, temperature=1.0)},
    ],
    ids=["messages", "tools", "sampling"],
)
async def test_a_step_that_asks_for_something_else_is_another(change: dict[str, object]) -> None:
    journal = MemoryJournal(now_ms)
    provider = ScriptedChannel(lambda _request: after(0.0))
    run = await taken_up(journal)
    to = channel(run, provider)
    for request in (QUESTION, replace(QUESTION, **change)):  # type: ignore[arg-type]
        await ask(to, request)
    first, second = run.steps.values()
    assert first.key.split("-")[0] != second.key
    alike = LiveRun(Held(journal, run.hold), Stored(RECORD, Standing(), 1), Ledger())
    here = channel(alike, provider)
    await ask(here, QUESTION)
    await ask(here, QUESTION)
    one, two = alike.steps.values()
    assert one.key == first.key, "the same is the same"
    assert two.key != second.key, "what is asked counts, not the place alone"


async def test_what_does_not_change_the_answer_does_not_change_the_step() -> None:
    journal = MemoryJournal(now_ms)
    provider = ScriptedChannel(lambda _request: after(0.0))
    run = await taken_up(journal)
    await ask(channel(run, provider), QUESTION)
    again = LiveRun(Held(journal, run.hold), Stored(RECORD, Standing(), 1), Ledger())
    traced = replace(QUESTION, stream=True, user="me", extra={"metadata": {"a": "b"}})
    await ask(channel(again, provider), traced)
    assert [s.key for s in run.steps.values()] == [s.key for s in again.steps.values()]


async def test_a_run_without_a_seed_goes_on() -> None:
    world = World()
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(3, "best_of_n", question="Tell me of the sea.", seed=None)
        await anyio.sleep(15)
        assert (await second.ask("best_of_n", question="Tell me of the sea.", seed=None)).text
