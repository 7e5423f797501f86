"""Who begins a run, goes on with one, listens to one, and who may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest

from gateway.metering.ledger import RunPutAway, RunResumed, StepReplayed
from gateway.stores.journal.records import RunName
from techniques.core.errors import (
    HeldBack,
    RunBusy,
    RunConflict,
    RunSuspended,
    UpstreamFailed,
)
from techniques.core.reply import Reply, fold
from techniques.core.request import Request
from techniques.testing import Line
from tests.gateway.runs.scene import Replica, World, after, sure

DRAWS = 5


def limited(steps: set[str], wait_s: float = 90.0) -> Callable[[Request], Line | str]:
    """Return a script in which the calls of *steps* meet a limit, once each."""
    left = set(steps)

    def script(request: Request) -> Line | str:
        if request.step in left:
            left.discard(request.step)
            return Line(HeldBack("The limit is reached.", retry_after=wait_s))
        return after(1.0)

    return script


async def test_a_run_that_is_over_is_answered_from_the_journal() -> None:
    world = World()
    async with world.replica() as replica:
        first = await replica.ask()
        asked = len(world.asked)
        again = await replica.ask()
        assert again == first
        assert len(world.asked) == asked


@pytest.mark.parametrize("technique", ["best_of_n", "self_consistency"])
async def test_what_a_metric_says_was_saved_is_what_the_runs_say(technique: str) -> None:
    world = World(limited({"c2"}))
    async with world.replica() as first, world.replica() as second:
        with pytest.raises(RunSuspended):
            await first.ask(technique)
        for _ in range(3):  # it goes on, and is then repeated
            await second.ask(technique)
        standing = (await world.stored()).standing

    replayed = [fact for fact in world.facts if isinstance(fact, StepReplayed)]
    assert len(replayed) == standing.replayed
    assert sum(fact.saved for fact in replayed) == standing.saved
    assert standing.saved > 0


async def test_a_run_that_is_over_takes_no_time_and_answers_elsewhere_too() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as first, world.replica() as second:
        reply = await first.ask()
        began = anyio.current_time()
        assert await second.ask() == reply
        assert anyio.current_time() - began < 0.01


async def test_a_plain_call_with_a_name_is_a_run_of_one_step() -> None:
    world = World()
    async with world.replica() as replica:
        reply = await replica.ask("none")
        assert await replica.ask("none") == reply
        assert len(world.asked) == 1
        (step,) = (await world.stored()).steps
        assert step.path == "none:0:0:answer:0"


async def test_a88_a_run_with_another_body_is_refused_and_not_to_be_retried() -> None:
    world = World()
    async with world.replica() as replica:
        await replica.ask()
        asked = len(world.asked)
        with pytest.raises(RunConflict) as told:
            await replica.ask(question="What is 6 * 8?")
        assert told.value.code == "run_mismatch"
        assert len(world.asked) == asked


async def test_a88_who_comes_while_a_run_is_carried_out_listens_to_it() -> None:
    world = World(lambda _request: after(10))
    replies: list[Reply] = []
    async with world.replica() as replica:

        async def ask(at: float) -> None:
            await anyio.sleep(at)
            replies.append(await replica.ask())

        async with anyio.create_task_group() as group:
            for at in (0.0, 0.0, 5.0):
                group.start_soon(ask, at)
        assert len(replies) == 3
        assert replies[0] == replies[1] == replies[2]
        assert max(Counter(world.asked).values()) == 1


async def test_a_run_that_another_replica_is_at_work_on_is_waited_for() -> None:
    world = World(lambda _request: after(20))
    replies: list[Reply] = []

    async def ask(replica: Replica) -> None:
        replies.append(await replica.ask())

    async with world.replica() as first, world.replica() as second:
        async with anyio.create_task_group() as group:
            group.start_soon(ask, first)
            await anyio.sleep(1)
            group.start_soon(ask, second)
        assert replies[0] == replies[1]
        assert max(Counter(world.asked).values()) == 1


async def test_a_run_that_another_replica_is_long_at_work_on_is_told_to_be_busy() -> None:
    world = World(lambda _request: after(200))
    async with (
        world.replica() as first,
        world.replica() as second,
        anyio.create_task_group() as group,
    ):
        group.start_soon(first.ask)
        await anyio.sleep(1)
        began = anyio.current_time()
        with pytest.raises(RunBusy):
            await second.ask()
        assert anyio.current_time() - began == pytest.approx(55, abs=1)
        group.cancel_scope.cancel()


async def test_runs_without_a_name_and_with_one_body_are_apart() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica, anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(partial(replica.ask, "baseline", run=None))
    assert len(world.asked) == 3


async def test_a_limit_puts_a_run_away_and_what_is_under_way_ends_first() -> None:
    world = World(limited({"c2"}))
    async with world.replica() as replica:
        with pytest.raises(RunSuspended) as told:
            await replica.ask(params={"num_samples": DRAWS})
        assert told.value.run == "run"
        assert told.value.retry_after == 90
        stored = await world.stored()
        assert stored.standing.state == "suspended"
        assert stored.standing.eta_ms is not None
        done = [step.path.split(":")[2] for step in stored.steps if step.state == "completed"]
        assert set(done) == {"c0", "c1"}
        assert [fact for fact in world.facts if isinstance(fact, RunPutAway)]


@pytest.mark.parametrize("named", [True, False], ids=["name", "body"])
async def test_a_run_that_was_put_away_goes_on_at_the_call_that_is_missing(*, named: bool) -> None:
    world = World(limited({"c2"}))
    run = "run" if named else None
    async with world.replica() as first, world.replica() as second:
        with pytest.raises(RunSuspended):
            await first.ask(run=run, params={"num_samples": DRAWS})
        before = Counter(world.asked)
        await anyio.sleep(90)
        reply = await second.ask(run=run, params={"num_samples": DRAWS})
        assert reply.text
        again = Counter(world.asked) - before
        assert not {"c0", "c1"} & set(again)
        assert "c2" in again
        (resumed,) = [fact for fact in world.facts if isinstance(fact, RunResumed)]
        assert resumed.cause == ("name" if named else "body")


async def test_a_run_that_was_put_away_is_resumed_by_one_of_many_that_ask_the_same() -> None:
    world = World(limited({"a0"}))
    async with world.replica() as replica:
        with pytest.raises(RunSuspended):
            await replica.ask("baseline", run=None)
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(partial(replica.ask, "baseline", run=None))
        resumed = [fact for fact in world.facts if isinstance(fact, RunResumed)]
        assert len(resumed) == 1


async def test_who_asks_again_by_body_listens_to_the_run_that_is_carried_out() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        async with anyio.create_task_group() as group:
            group.start_soon(partial(replica.ask, "baseline", run=None))
            await anyio.sleep(1)
            group.start_soon(partial(replica.ask, "baseline", run=None, attempted=1))
        await replica.ask("baseline", run=None, attempted=1)
    assert len(world.asked) == 1


async def test_a_failure_that_may_pass_leaves_a_run_that_can_go_on() -> None:
    down = [UpstreamFailed("down", "overloaded", retryable=True)]

    def script(_request: Request) -> Line | str:
        return Line(down.pop()) if down else after(1.0)

    world = World(script)
    async with world.replica() as replica:
        with pytest.raises(UpstreamFailed):
            await replica.ask("none")
        assert (await world.stored()).standing.state == "interrupted"
        assert (await replica.ask("none")).text == "42"
        assert (await world.stored()).standing.state == "completed"


def _one_breaks() -> World:
    left = {"c1"}

    def script(request: Request) -> Line | str:
        if request.step in left:
            left.discard(request.step)
            return Line(UpstreamFailed("down", "server"))
        return sure(request)

    return World(script)


async def test_a_failure_that_the_technique_has_taken_into_account_is_one_again() -> None:
    """What came after it was asked because of it."""
    whole = _one_breaks()
    async with whole.replica() as replica:
        expected = await replica.ask("best_of_n")
        words = replica.journal.written
    world = _one_breaks()
    async with world.replica() as first, world.replica() as second:
        assert await first.dies(words - 2, "best_of_n")
        assert "failed" in {step.state for step in (await world.stored()).steps}
        before = Counter(world.asked)
        await anyio.sleep(15)
        assert await second.ask("best_of_n") == expected
        assert "c1" not in Counter(world.asked) - before


async def test_a62_a_run_does_not_go_on_when_what_is_to_be_done_has_changed() -> None:
    world = World(limited({"c2"}))
    async with world.replica() as replica:
        with pytest.raises(RunSuspended):
            await replica.ask()
        with pytest.raises(RunConflict) as told:
            await replica.ask(plan="another")
        assert told.value.code == "config_changed"
        assert (await world.stored()).standing.state == "suspended"
        assert (await replica.ask(plan="another", force=True)).text


async def test_a_run_of_the_background_that_has_changed_says_so_and_fails_at_last() -> None:
    world = World(limited({"c2"}))
    stood = []
    async with world.replica() as replica:
        with pytest.raises(RunSuspended):
            await replica.ask()
        found = await world.stored()
        behind = replace(found, record=replace(found.record, background=True))
        assert await world.journal.put(behind, replaces=True) is None
        for _ in range(20):
            with pytest.raises(RunConflict) as told:
                await replica.ask(plan="another", background=True)
            assert told.value.code == "config_changed"
            stood.append((await world.stored()).standing)
        assert await world.journal.abandoned(10) == []
        assert (await replica.ask(plan="another", background=True, force=True)).text

    assert {one.reason for one in stood} == {"config_changed"}
    assert [one.state for one in stood] == [*["suspended"] * 19, "failed"]


async def test_a62_a_run_that_asks_otherwise_than_it_did_fails_loudly() -> None:
    world = World(limited({"c2"}))
    async with world.replica() as replica:
        with pytest.raises(RunSuspended):
            await replica.ask()
        with pytest.raises(RunConflict) as told:
            await replica.ask("self_refine", body=(await world.stored()).record.body, force=True)
        assert told.value.code == "journal_divergence"
        assert (await world.stored()).standing.state == "failed"


async def test_a61_a_replica_that_was_away_for_too_long_sends_nothing_more() -> None:
    world = World(lambda _request: after(1.0))
    async with world.replica() as stale, world.replica() as owner:
        stale.journal.stalls = lambda write: any(s.state == "dispatched" for s in write.steps)
        told: list[type] = []

        async def ask() -> None:
            try:
                await stale.ask("baseline")
            except RunBusy as error:
                told.append(type(error))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await stale.journal.stalled.wait()
            await anyio.sleep(16)
            await owner.ask("baseline")
            assert len(world.asked) == 1
            stale.journal.go_on.set()
        assert told == [RunBusy]
        assert len(world.asked) == 1
        assert (await world.stored()).standing.state == "completed"


async def _leave(replica: Replica, seconds: float, **said: Any) -> None:
    with anyio.move_on_after(seconds):
        await replica.ask("baseline", **said)


async def test_a_client_that_leaves_a_run_with_a_name_finds_its_answer_later() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        await _leave(replica, 1)
        assert anyio.current_time() >= 10, "what is under way may end"
        assert (await replica.ask("baseline")).text == "42"
    assert len(world.asked) == 1


async def test_what_is_under_way_for_a_client_that_left_is_cut_off_in_the_end() -> None:
    world = World(lambda _request: after(300))
    async with world.replica() as replica:
        await _leave(replica, 1)
        assert anyio.current_time() == pytest.approx(31, abs=1)
        assert world.provider.open_calls == 0
        stored = await world.stored()
        assert stored.standing.state == "interrupted"
        assert [step.state for step in stored.steps] == ["ambiguous"]


async def test_a_run_without_a_name_is_cut_off_with_its_client() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        await _leave(replica, 1, run=None)
        assert anyio.current_time() == pytest.approx(1, abs=0.1)
        assert world.provider.open_calls == 0


async def test_a_run_goes_on_as_long_as_one_client_listens() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica, anyio.create_task_group() as group:
        group.start_soon(_leave, replica, 1)
        group.start_soon(partial(replica.ask, "baseline"))
    assert len(world.asked) == 1


async def test_a_run_that_is_cancelled_keeps_what_was_paid_for() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        told: list[str] = []

        async def ask() -> None:
            try:
                await replica.ask("self_refine")
            except RunConflict as error:
                told.append(error.code)

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.sleep(1)
            stored = await replica.book.find(RunName("", "run"))
            assert stored is not None
            await replica.book.cancel(stored)
        assert told == ["run_cancelled"]
        kept = await world.stored()
        assert kept.standing.state == "cancelled"
        assert [step.state for step in kept.steps] == ["completed"]
        with pytest.raises(RunConflict):
            await replica.ask("self_refine")
        await replica.ask("self_refine", force=True)
        assert max(Counter(world.asked).values()) == 1


async def test_a_run_that_waits_is_cancelled_too() -> None:
    world = World(limited({"a0"}))
    async with world.replica() as replica:
        with pytest.raises(RunSuspended):
            await replica.ask("baseline")
        await replica.book.cancel(await world.stored())
        assert (await world.stored()).standing.state == "cancelled"


async def test_a_run_in_the_background_needs_nobody_who_listens() -> None:
    world = World(lambda _request: after(10))
    async with world.replica() as replica:
        begun = await replica.begin("baseline", background=True)
        async with begun.answer as events:
            del events
        await anyio.sleep(20)
        assert (await world.stored()).standing.state == "completed"


async def test_claims_of_runs_that_are_carried_out_are_renewed() -> None:
    world = World(lambda _request: after(100))
    async with world.replica() as replica, anyio.create_task_group() as group:
        group.start_soon(replica.ask)
        await anyio.sleep(80)
        assert (await world.stored()).is_executing


async def test_old_runs_are_forgotten() -> None:
    world = World()
    async with world.replica() as replica:
        await replica.ask()
        await anyio.sleep(replica.book.policy.retention_s * 1.1)
        assert await world.journal.find(RunName("", "run")) is None


async def test_a_run_that_failed_for_good_is_tried_again_by_its_name() -> None:
    broken = [UpstreamFailed("wrong", "rejected")]
    world = World(lambda _request: Line(broken.pop()) if broken else after(1.0))
    async with world.replica() as replica:
        with pytest.raises(UpstreamFailed):
            await replica.ask("none")
        assert (await world.stored()).standing.state == "failed"
        assert (await replica.ask("none")).text == "42"


@pytest.mark.parametrize("hangs", [False, True])
async def test_what_is_done_before_a_run_is_put_away_is_done_first_and_is_not_waited_for_long(
    *, hangs: bool
) -> None:
    world = World(limited({"c1"}))
    seen: list[str] = []

    async def prepare() -> None:
        seen.append((await world.stored()).standing.state)
        if hangs:
            await anyio.sleep_forever()

    async with world.replica() as replica:
        begun = await replica.begin()
        live = replica.book.floor.here[RunName("", "run")].live
        live.on_suspended["host"] = prepare
        with pytest.raises(RunSuspended):
            async with begun.answer as events:
                await fold(events)
    assert seen == ["executing"]
    assert (await world.stored()).standing.state == "suspended"
