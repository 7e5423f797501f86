"""A run whose conversation was shortened goes on as it was shortened, whatever a replica knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import anyio
import pytest

from gateway.context.rules import OnWall, Rules
from techniques.core.json import Json
from techniques.core.request import Request
from techniques.testing import Line
from tests.gateway.context.scene import obedient, talk
from tests.gateway.runs.scene import World, sure

LEASE_S = 15
DRAWS = {"num_samples": 5, "stop": "exact"}


def spoken(turns: int) -> Sequence[Json]:
    return [{"role": one.role, "content": one.text} for one in talk(turns)]


def script(request: Request) -> Line | str:
    return obedient(request) if request.role == "summary" else sure(request)


def world_of(on_wall: OnWall) -> World:
    return World(script, window=1500, rules=Rules(on_wall, model="n"))


def summaries(world: World) -> int:
    return Counter(request.role for request in world.provider.asked)["summary"]


def conversations(world: World) -> set[int]:
    return {len(one.messages) for one in world.provider.asked if one.role != "summary"}


@pytest.mark.parametrize("on_wall", ["truncate", "summarise"])
async def test_another_replica_that_saw_other_turns_goes_on_with_the_same_cut(
    on_wall: OnWall,
) -> None:
    world = world_of(on_wall)
    async with world.replica() as first, world.replica() as second:
        await first.ask(run="before", messages=spoken(16), params=DRAWS)
        known = summaries(world)
        world.provider.asked.clear()
        assert await first.dies(first.journal.written + 4, messages=spoken(17), params=DRAWS)
        done = [step for step in (await world.stored()).steps if step.state == "completed"]
        assert done
        await anyio.sleep(LEASE_S)
        await second.ask(messages=spoken(17), params=DRAWS)
        assert (await world.stored()).standing.state == "completed"
        assert len(conversations(world)) == 1
        assert (await world.stored()).standing.replayed == len(done)
        assert known == (on_wall == "summarise")
        assert not summaries(world)  # the one that was paid in the turn before is still good


@pytest.mark.parametrize("words", range(2, 7))
async def test_a_summary_is_paid_once_wherever_its_run_breaks_off_after_it(words: int) -> None:
    world = world_of("summarise")
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(words, messages=spoken(16), params=DRAWS)
        assert summaries(world) == 1
        await anyio.sleep(LEASE_S)
        await second.ask(messages=spoken(16), params=DRAWS)
        assert summaries(world) == 1
        assert (await world.stored()).standing.state == "completed"
        assert len(conversations(world)) == 1
