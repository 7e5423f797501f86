"""A replica dies at any word that it writes; another goes on, and no settled step is paid twice."""

from __future__ import annotations

from collections import Counter

import anyio
import pytest

from gateway.metering.ledger import StepAmbiguous, StepReplayed
from gateway.runs.wanted import RunPolicy
from techniques.core.errors import RunConflict
from techniques.core.events import Warned
from tests.gateway.runs.scene import CARDS, World

LEASE_S = 15
TECHNIQUES = sorted(CARDS)
POINTS = 6
"""At which of the words that it writes a replica dies: from the first to the last."""


async def _undisturbed(technique: str) -> tuple[str, int, Counter[str]]:
    """Return the answer of *technique*, how many words it writes, and what it asks."""
    world = World()
    async with world.replica() as replica:
        reply = await replica.ask(technique)
        return reply.text, replica.journal.written, Counter(world.asked)


@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("technique", TECHNIQUES)
async def test_a60_wherever_a_replica_dies_the_run_comes_to_the_same_answer(
    technique: str, *, written: bool
) -> None:
    expected, words, asked = await _undisturbed(technique)
    for at in sorted({round(part * (words - 1) / (POINTS - 1)) for part in range(POINTS)}):
        world = World()
        async with world.replica() as first, world.replica() as second:
            assert await first.dies(at, technique, after=written)
            done = {
                step.path.split(":")[2]
                for step in (await world.stored()).steps
                if step.state == "completed"
            }
            before = Counter(world.asked)
            await anyio.sleep(LEASE_S)
            reply = await second.ask(technique)
            assert reply.text == expected, f"died at {at}"
            again = Counter(world.asked) - before
            assert not done & set(again), f"paid twice, died at {at}"
            assert set(world.asked) == set(asked), f"died at {at}"
            assert (await world.stored()).standing.state == "completed"


async def test_a60_a_kill_before_dispatch_makes_the_call_once() -> None:
    world = World()
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline")
        assert world.asked == []
        await anyio.sleep(LEASE_S)
        await second.ask("baseline")
        assert len(world.asked) == 1
        assert not [fact for fact in world.facts if isinstance(fact, StepAmbiguous)]


async def test_a60_after_a_kill_after_dispatch_the_call_is_made_again_and_its_waste_counted() -> (
    None
):
    world = World()
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        await second.ask("baseline")
        stored = await world.stored()
        assert stored.standing.ambiguous == 1
        assert stored.standing.waste > 0
        assert [fact for fact in world.facts if isinstance(fact, StepAmbiguous)]
        assert any(isinstance(f, Warned) and f.code == "step_ambiguous" for f in world.facts)


async def test_what_a_killed_replica_had_counted_of_a_run_stays_counted() -> None:
    world = World()
    async with world.replica() as first, world.replica() as second, world.replica() as third:
        assert await first.dies(1, "self_consistency", after=True)
        await anyio.sleep(LEASE_S)
        assert await second.dies(2, "self_consistency", after=True)
        await anyio.sleep(LEASE_S)
        between = (await world.stored()).standing
        assert between.ambiguous >= 1
        assert between.waste > 0
        await third.ask("self_consistency")
        standing = (await world.stored()).standing
        assert standing.resumes == 2
        assert standing.ambiguous > between.ambiguous


@pytest.mark.parametrize(("policy", "state"), [("ask", "interrupted"), ("fail", "failed")])
async def test_a60_a_doubtful_call_is_not_made_again_where_the_policy_says_so(
    policy: str, state: str
) -> None:
    world = World(policy=RunPolicy(lease_s=LEASE_S, ambiguous=policy))  # type: ignore[arg-type]
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        with pytest.raises(RunConflict) as told:
            await second.ask("baseline")
        assert told.value.code == "step_ambiguous"
        assert len(world.asked) == 0
        stored = await world.stored()
        assert stored.standing.state == state
        assert [step.state for step in stored.steps] == ["ambiguous"]


async def test_a_doubtful_call_is_made_again_when_somebody_says_so() -> None:
    world = World(policy=RunPolicy(lease_s=LEASE_S, ambiguous="ask"))
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        with pytest.raises(RunConflict):
            await second.ask("baseline")
        await second.ask("baseline", ambiguous="retry")
        assert len(world.asked) == 1


async def test_a_doubtful_call_is_counted_once_however_often_somebody_was_asked_first() -> None:
    world = World(policy=RunPolicy(lease_s=LEASE_S, ambiguous="ask"))
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        for _ in range(3):
            with pytest.raises(RunConflict):
                await second.ask("baseline")
        standing = (await world.stored()).standing
        assert (standing.ambiguous, standing.waste) == (0, 0)
        await second.ask("baseline", ambiguous="retry")
        standing = (await world.stored()).standing
        assert standing.ambiguous == 1
        assert standing.waste > 0


async def test_a_run_in_the_background_that_waits_for_a_word_is_not_taken_up_until_it_comes() -> (
    None
):
    world = World(policy=RunPolicy(lease_s=LEASE_S, ambiguous="ask"))
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(0, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        with pytest.raises(RunConflict):
            await second.ask("baseline", background=True)
        assert await world.journal.abandoned(10) == []
        await second.ask("baseline", background=True, ambiguous="retry")
        assert (await world.stored()).standing.state == "completed"


async def test_a60_after_a_kill_after_completion_the_call_is_not_made_again() -> None:
    world = World()
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(1, "baseline", after=True)
        await anyio.sleep(LEASE_S)
        asked = len(world.asked)
        reply = await second.ask("baseline")
        assert reply.text
        assert len(world.asked) == asked == 1
        (replayed,) = [fact for fact in world.facts if isinstance(fact, StepReplayed)]
        assert replayed.model == "m"
        assert (await world.stored()).standing.replayed == 1


async def test_a_run_whose_replica_is_gone_is_waited_for_until_it_is_free() -> None:
    world = World()
    async with world.replica() as first, world.replica() as second:
        await first.begin("baseline")  # which it never carries out
        first.journal.died.set()
        began = anyio.current_time()
        await second.ask("baseline")
        assert LEASE_S - 1 < anyio.current_time() - began < LEASE_S + 1
