"""Who comes back to a run while it is about to stop, and runs that cannot begin or end here."""

from __future__ import annotations

import anyio
import pytest

from gateway.context.slimmer import Slimmer
from gateway.runs.book import RunBook
from gateway.runs.terms import Stop
from gateway.stores.journal.journal import Write
from gateway.stores.journal.memory import MemoryJournal
from techniques.core.errors import RunConflict, Unavailable
from techniques.core.reply import fold
from tests.gateway.runs.scene import POLICY, Mortal, Replica, World, after, now_ms, sure

PLAIN = ("none", "baseline", "self_consistency", "self_refine")


async def _left(replica: Replica, seconds: float, technique: str) -> None:
    """Ask for a run, and leave after a while; calls under way go on without us."""

    async def ask() -> None:
        with anyio.move_on_after(seconds):
            await replica.ask(technique)

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await anyio.sleep(seconds + 0.5)
        assert replica.book.floor.here, "it stops, and has not stopped yet"
        reply = await replica.ask(technique)
        assert reply.text == "42"


@pytest.mark.parametrize("technique", PLAIN)
@pytest.mark.parametrize("seconds", [1.0, 5.0, 9.0])
async def test_who_comes_back_while_a_run_stops_gets_all_of_its_answer(
    technique: str, seconds: float
) -> None:
    whole = World(lambda _request: after(10))
    async with whole.replica() as replica:
        await replica.ask(technique)
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        await _left(replica, seconds, technique)
    assert sorted(world.asked) == sorted(whole.asked), "nothing is paid twice"
    assert (await world.stored()).standing.state == "completed"


async def test_many_who_come_back_while_a_run_stops_share_one_that_goes_on() -> None:
    world = World(lambda _request: after(10))
    texts: list[str] = []

    async def ask(replica: Replica) -> None:
        texts.append((await replica.ask("self_refine")).text)

    async with world.replica() as replica:
        with anyio.move_on_after(1):
            async with anyio.create_task_group() as group:
                group.start_soon(replica.ask, "self_refine")
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(ask, replica)
    assert texts == ["42"] * 5
    assert len(world.asked) == len(set(world.asked))


async def test_who_comes_back_to_a_run_that_is_being_cancelled_is_told_so() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica, anyio.create_task_group() as group:

        async def refused() -> None:
            with pytest.raises(RunConflict) as told:
                await replica.ask()
            assert told.value.code == "run_cancelled"

        group.start_soon(refused)
        await anyio.sleep(1)
        group.start_soon(replica.book.cancel, await world.stored())
        await anyio.sleep(1)
        await refused()


async def test_a_run_that_cannot_be_carried_out_any_more_is_told_so_at_once() -> None:
    world = World()
    book = RunBook(Mortal(world.journal), POLICY, now_ms)
    replica = Replica(world, book, Mortal(world.journal), Slimmer())
    with anyio.fail_after(1), pytest.raises(Unavailable):
        await replica.ask()
    assert not book.floor.here
    assert not world.asked


class _Unwritable(MemoryJournal):
    """A journal that fails in a way that nobody expects, at the end of the run *named*."""

    named = "bad"

    async def write(self, write: Write) -> None:
        if write.ends and write.hold.name.run == self.named:
            raise TypeError("this cannot be written")
        await super().write(write)


async def test_a_run_whose_end_cannot_be_written_costs_no_other() -> None:
    world = World(lambda _request: after(10), _Unwritable(now_ms))
    async with world.replica() as replica, anyio.create_task_group() as group:
        other: list[str] = []

        async def ask() -> None:
            other.append((await replica.ask("self_refine", run="good")).text)

        group.start_soon(ask)
        assert (await replica.ask("none", run="bad")).text == "42"
        await anyio.sleep(100)
        assert other == ["42"]
        assert (await replica.ask("none", run="later")).text == "42"
        assert not replica.book.floor.here


async def test_what_is_under_way_when_a_replica_ends_may_have_been_paid_for() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        begun = await replica.begin(run="late", background=True)
        async with anyio.create_task_group() as group:

            async def hear() -> None:
                with pytest.raises(Unavailable):
                    async with begun.answer as events:
                        await fold(events)

            group.start_soon(hear)
            await anyio.sleep(1)
            replica.book.floor.break_off()
    stored = await world.stored("late")
    assert stored.standing.state == "interrupted"
    assert {step.state for step in stored.steps} == {"ambiguous"}
    world.script = sure
    async with world.replica() as replica:
        await replica.ask(run="late")
    assert (await world.stored("late")).standing.waste > 0


async def test_a_stopped_run_is_not_heard_by_who_comes_later() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica, anyio.create_task_group() as group:

        async def first() -> None:
            with pytest.raises(Unavailable):
                await replica.ask("self_refine")

        group.start_soon(first)
        await anyio.sleep(1)
        (here,) = replica.book.floor.here.values()
        here.live.halt(Stop("left", Unavailable("It stops.")))
        assert (await replica.ask("self_refine")).text == "42"
    assert len(world.asked) == len(set(world.asked))
