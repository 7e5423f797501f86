"""Runs of some keys are kept in a process's memory alone, beside a journal that lasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.stores.journal.apart import ApartJournal
from gateway.stores.journal.journal import Claimed, Hold, Sought, StaleToken, Write
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Standing, Stored
from tests.contract.journal.desk import LEASE_MS, Clock, claim, claimed, run, step

pytestmark = pytest.mark.anyio
DONE = step(state="completed", seq=1, events="[]")
OVER = Standing("completed", answer="[]")


class Desk:
    """Both journals, and whose runs are kept apart."""

    def __init__(self, clock: Clock) -> None:
        self.lasting, self.passing = MemoryJournal(clock), MemoryJournal(clock)
        self.apart = {"shy"}
        self.journal = ApartJournal(self.lasting, self.passing, lambda owner: owner in self.apart)

    async def where(self, name: RunName) -> list[bool]:
        """Return whether a run is in the journal that lasts, and in the other."""
        return [await one.find(name) is not None for one in (self.lasting, self.passing)]


@pytest.fixture
def desk(clock: Clock) -> Desk:
    return Desk(clock)


def of(owner: str, name: str = "run", **more: Any) -> RunRecord:
    return run(name, owner, **more)


async def over(desk: Desk, record: RunRecord) -> None:
    """Carry a run out."""
    hold = (await claimed(desk.journal, record)).hold
    await desk.journal.write(Write(hold, (DONE,), OVER, ends=True))


async def test_nothing_of_a_key_that_is_kept_apart_is_in_what_lasts(desk: Desk) -> None:
    for owner, expected in (("shy", [False, True]), ("key", [True, False])):
        await over(desk, of(owner))
        await desk.journal.put(Stored(of(owner, "brought"), Standing("interrupted"), 0))
        for name in ("run", "brought"):
            assert await desk.where(RunName(owner, name)) == expected
            assert await desk.journal.find(RunName(owner, name)) is not None
    assert len(await desk.journal.listed(Sought("shy"))) == 2


async def test_a_run_is_written_where_it_began_also_when_its_key_has_changed(
    desk: Desk, clock: Clock
) -> None:
    holds = [(await claimed(desk.journal, of(owner))).hold for owner in ("shy", "key")]
    desk.apart = {"key"}
    assert list(await desk.journal.renew(holds, LEASE_MS)) == []
    for hold in holds:
        await desk.journal.write(Write(hold, (DONE,), OVER, ends=True))
    assert await desk.where(RunName("shy", "run")) == [False, True]
    assert await desk.where(RunName("key", "run")) == [True, False]
    assert await desk.journal.find(RunName("key", "run")) is None
    again = await claimed(desk.journal, of("key"))
    assert again.is_new
    await desk.journal.write(Write(again.hold, (DONE,), OVER, ends=True))


async def test_claims_are_lost_in_either_journal(desk: Desk, clock: Clock) -> None:
    holds = [(await claimed(desk.journal, of(owner))).hold for owner in ("shy", "key")]
    clock.now += LEASE_MS
    taken = [await desk.journal.claim(claim(of(owner))) for owner in ("shy", "key")]
    assert all(isinstance(one, Claimed) for one in taken)
    assert sorted(await desk.journal.renew(holds, LEASE_MS)) == sorted(holds)
    for hold in [*holds, Hold(RunName("shy", "unknown"), 1)]:
        with pytest.raises(StaleToken):
            await desk.journal.write(Write(hold, (DONE,)))


async def test_all_runs_are_listed_together_the_latest_first(desk: Desk) -> None:
    for place, (owner, name) in enumerate([("shy", "a"), ("key", "b"), ("shy", "c"), ("key", "d")]):
        await over(desk, replace(of(owner, name), created_ms=1_000_000 + place))
    listed = [one.record.name.run for one in await desk.journal.listed(Sought(None))]
    assert listed == ["d", "c", "b", "a"]
    (latest,) = await desk.journal.listed(Sought(None, limit=1))
    assert latest.record.name.run == "d"


async def test_what_is_erased_is_erased_in_both_journals(desk: Desk, clock: Clock) -> None:
    for names in (("run",), ("run", "more")):
        for name in names:
            await over(desk, of("key", name))
        desk.apart = {"shy", "key"} - (desk.apart & {"key"})
    assert await desk.journal.forget([RunName("key", "run")]) == 2
    assert await desk.journal.erase("key") == 1
    await over(desk, of("shy"))
    await over(desk, of("other"))
    clock.now += LEASE_MS * 2
    assert await desk.journal.purge(clock.now) == 2


async def test_runs_of_the_background_go_on_where_they_are_kept_and_nowhere_else(
    desk: Desk,
) -> None:
    waits = Standing("interrupted")
    for owner in ("key", "shy"):
        for name in ("1", "2", "3"):
            await desk.journal.put(Stored(of(owner, name, background=True), waits, 0))
    await desk.journal.put(Stored(of("late", "run", background=True), waits, 0))
    found = {record.name.owner for record in await desk.journal.abandoned(10)}
    assert found == {"key", "shy", "late"}
    desk.apart = {"shy", "key"}
    found = {record.name.owner for record in await desk.journal.abandoned(10)}
    assert found == {"shy", "late"}
    await desk.journal.erase("shy")
    taken = [record.name.owner for _ in range(3) for record in await desk.journal.abandoned(1)]
    assert "late" in taken, "one that may not go on keeps no other from it"
