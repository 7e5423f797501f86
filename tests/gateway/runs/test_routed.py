"""A run that a router chose the technique of goes on as it was begun, whatever it chooses then."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import anyio
import pytest

from gateway.metering.routed import read
from gateway.runs.terms import Stop
from router_service.contract import RouterGone
from techniques.core.errors import RunConflict, Unavailable
from techniques.core.reply import fold
from tests.gateway.routing.scene import Scripted
from tests.gateway.runs.scene import Replica, World, after, sure

LEASE_S = 15
VOTE, BEST = "self_consistency/3", "best_of_n/3"
ARMS = (VOTE, BEST, "harq_ir/2", "none")


async def _undisturbed(arm: str) -> tuple[str, int, Counter[str]]:
    """Return the answer of *arm*, how many words it writes, and what it asks."""
    world = World()
    async with world.replica() as replica:
        replica.router = Scripted(arm)
        reply = await replica.ask("auto")
        return reply.text, replica.journal.written, Counter(world.asked)


def shown(replica: Replica) -> str:
    """Return the arm that the client is told of."""
    assert replica.visit is not None
    assert replica.visit.plan is not None
    assert replica.visit.plan.routed is not None
    return replica.visit.plan.routed.arm


@pytest.mark.parametrize("then", ["none", VOTE, BEST, "gone"])
@pytest.mark.parametrize("arm", ARMS)
async def test_wherever_a_replica_dies_the_run_goes_on_with_the_arm_it_was_begun_with(
    arm: str, then: str
) -> None:
    expected, words, asked = await _undisturbed(arm)
    for at in range(words):
        world = World()
        async with world.replica() as first, world.replica() as second:
            first.router = Scripted(arm)
            second.router = Scripted(RouterGone("") if then == "gone" else then)
            assert await first.dies(at, "auto")
            done = {s.path.split(":")[2] for s in (await world.stored()).steps if s.seq}
            before = Counter(world.asked)
            await anyio.sleep(LEASE_S)

            reply = await second.ask("auto")

            assert reply.text == expected, f"died at {at}"
            assert not done & set(Counter(world.asked) - before), f"paid twice, died at {at}"
            assert set(world.asked) == set(asked), f"died at {at}"
            assert shown(second) == arm
            stored = await world.stored()
            assert stored.standing.state == "completed"
            assert stored.record.routed is not None
            assert read(stored.record.routed).arm == arm


async def test_a_run_without_a_name_is_found_by_its_body_and_goes_on_as_it_was_begun() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        replica.router = Scripted(VOTE)
        async with anyio.create_task_group() as group:

            async def left() -> None:
                with pytest.raises(Unavailable):
                    await replica.ask("auto", run=None)

            group.start_soon(left)
            await anyio.sleep(5)
            (here,) = replica.book.floor.here.values()
            here.live.halt(Stop("left", Unavailable("stopped")))
    async with world.replica() as replica:
        replica.router = Scripted(BEST)
        reply = await replica.ask("auto", run=None)

        assert reply.text == "42"
        assert shown(replica) == VOTE
    assert len(world.asked) == len(set(world.asked)), "nothing is paid twice"


async def test_who_joins_a_run_under_way_is_told_its_arm() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica, anyio.create_task_group() as group:
        replica.router = Scripted(VOTE)
        group.start_soon(replica.ask, "auto")
        await anyio.sleep(5)
        replica.router = Scripted("none")

        begun = await replica.begin("auto")
        async with begun.answer as events:
            await fold(events)

        assert shown(replica) == VOTE
    assert len(world.asked) == len(set(world.asked))


async def test_a_run_that_is_over_is_told_as_it_was_carried_out() -> None:
    world = World()
    async with world.replica() as replica:
        replica.router = Scripted(VOTE)
        first = await replica.ask("auto")
        asked = list(world.asked)
        replica.router = Scripted(BEST)

        assert (await replica.ask("auto")).text == first.text
        assert (shown(replica), world.asked) == (VOTE, asked)


async def _broken_off(world: World, arm: str) -> None:
    async with world.replica() as first:
        first.router = Scripted(arm)
        assert await first.dies(3, "auto")
    await anyio.sleep(LEASE_S)


async def test_what_an_arm_does_may_not_change_within_a_run() -> None:
    world = World()
    await _broken_off(world, VOTE)
    async with world.replica() as replica:
        replica.router, replica.options = Scripted("none"), {"temperature": 0.9}
        with pytest.raises(RunConflict) as caught:
            await replica.ask("auto")
        assert caught.value.code == "config_changed"

        replica.options = {}
        assert (await replica.ask("auto")).text.endswith("42.")


async def test_a_choice_that_cannot_be_carried_out_any_more_is_a_change() -> None:
    world = World()
    await _broken_off(world, VOTE)
    stored = await world.stored()
    gone = replace(stored.record, routed='{"arm": "telepathy", "why": ""}')
    await world.journal.forget([stored.record.name])
    await world.journal.put(replace(stored, record=gone, lease_ms=0))
    async with world.replica() as replica:
        replica.router = Scripted("none")
        with pytest.raises(RunConflict) as caught:
            await replica.ask("auto")
    assert caught.value.code == "config_changed"


async def test_a_run_that_no_router_was_asked_for_has_no_choice() -> None:
    world = World(sure)
    async with world.replica() as replica:
        replica.router = Scripted(BEST)
        await replica.ask("self_consistency")

    assert (await world.stored()).record.routed is None
