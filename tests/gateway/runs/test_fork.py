"""Forks of runs, on virtual time: what they wait for, and whom they disturb."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from gateway.runs.forking import forked, shared
from gateway.stores.journal.records import RunName, Standing, Stored
from tests.gateway.runs.scene import World, now_ms

pytestmark = pytest.mark.anyio
CHAINS = ("self_refine", "chain_of_verification", "best_of_n", "self_consistency", "baseline")


async def fork(world: World, from_step: str | int | None = None) -> Stored:
    """Put a fork of the run into the journal."""
    parent = await world.stored()
    record = forked(parent.record, RunName("", "fork"), now_ms())
    made = Stored(record, Standing("interrupted"), 0, 0, shared(parent, from_step))
    assert await world.journal.put(made) is None
    return made


@pytest.mark.parametrize("technique", CHAINS)
async def test_a_fork_that_asks_otherwise_does_not_wait_for_what_it_will_never_ask(
    technique: str,
) -> None:
    world = World()
    async with world.replica() as replica:
        await replica.ask(technique)
        calls = len(world.asked)
        made = await fork(world)
        began = anyio.current_time()
        same = {"body": made.record.body, "plan": made.record.plan}
        await replica.ask(technique, run="fork", question="What is 7 * 7?", **same)
        assert anyio.current_time() - began < 0.5
        assert len(world.asked) == 2 * calls
        assert (await world.stored("fork")).standing.state == "completed"
        assert (await world.stored("run")).standing.state == "completed"


@pytest.mark.parametrize("technique", CHAINS)
async def test_a_fork_from_each_step_makes_the_rest_and_comes_to_an_answer(technique: str) -> None:
    world = World()
    async with world.replica() as replica:
        first = await replica.ask(technique)
        count = sum(step.seq > 0 for step in (await world.stored()).steps)
        for place in range(1, count + 1):
            await world.journal.forget([RunName("", "fork")])
            await fork(world, place)
            before = len(world.asked)
            reply = await replica.ask(technique, run="fork")
            assert reply.text == first.text
            assert len(world.asked) - before == count - place + 1


async def test_a_fork_that_is_put_away_goes_on_like_any_run() -> None:
    world = World()
    async with world.replica() as replica, world.replica() as other:
        await replica.ask("best_of_n")
        count = len((await world.stored()).steps)
        await fork(world, 2)
        assert await other.dies(2, "best_of_n", run="fork", after=True)
        await anyio.sleep(world.policy.lease_s)
        before = len(world.asked)
        await replica.ask("best_of_n", run="fork")
        stored = await world.stored("fork")
        assert stored.standing.state == "completed"
        assert stored.standing.replayed >= 2, "its parent's step and its own"
        assert len(world.asked) - before <= count - 1
        own = {step.key for step in stored.steps if step.of is None}
        assert own
        assert not own & {step.key for step in (await world.stored()).steps}


async def test_what_is_called_off_in_the_parent_is_so_in_its_fork() -> None:
    world = World()
    async with world.replica() as replica:
        await replica.ask("self_consistency")
        parent = await world.stored()
        lost = replace(parent.steps[0], path="lost", state="superseded", seq=0, after=1)
        parent = replace(parent, steps=(*parent.steps, lost))
        assert "lost" in {step.path for step in shared(parent, None)}
        assert "lost" not in {step.path for step in shared(parent, 1)}
