"""Runs that nobody waits for are taken up by themselves, those that may go on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from gateway.metering.ledger import Fact, Ledger, RequestFinished
from gateway.policy.keys import Caller, OpenDoor
from gateway.runs.book import RunBook
from gateway.runs.later import Later
from gateway.runs.terms import Ambiguous
from gateway.runs.wanted import Begun, RunPolicy
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Sent, Standing, Stored
from gateway.surfaces.behind import Behind, Pressed, sweeping
from gateway.surfaces.idle import nothing as nothing_at_all
from gateway.surfaces.spoken import DIALECTS
from gateway.surfaces.visit import Visit
from techniques.core.errors import RunConflict
from techniques.core.events import Event
from techniques.core.groups import task_group

SENT = Sent("openai_chat", "{}", {})


@dataclass(frozen=True, slots=True)
class Sweeping(Behind):
    """Notes what it would go on with."""

    taken: list[str] = field(default_factory=list)

    async def _taken_up(self, name: RunName, sent: Sent) -> None:
        self.taken.append(name.run)


@dataclass(frozen=True, slots=True)
class Refusing(Behind):
    """Notes when it would go on with what, and can go on with none but what *goes*."""

    goes: str = ""
    tried: list[tuple[str, float]] = field(default_factory=list)

    async def begin(
        self, caller: Caller, sent: Sent, run: str | None, pressed: Pressed | None = None
    ) -> Begun:
        self.tried.append((run or "", anyio.current_time()))
        if run != self.goes:
            raise RunConflict("It has changed.", code="config_changed")
        nothing: Any = None
        return Begun(run, nothing)


@dataclass(frozen=True, slots=True)
class Broken(Refusing):
    """Trips over each run but what *goes*."""

    async def begin(
        self, caller: Caller, sent: Sent, run: str | None, pressed: Pressed | None = None
    ) -> Begun:
        try:
            return await Refusing.begin(self, caller, sent, run, pressed)
        except RunConflict:
            raise KeyError("a bug") from None


@dataclass(frozen=True, slots=True)
class Working(Behind):
    """Goes on with runs, each of which is at work for *takes_s*; *held* ones are held meanwhile."""

    takes_s: float = 0.0
    held: bool = False
    began: list[float] = field(default_factory=list)
    most: list[int] = field(default_factory=list)

    async def begin(
        self, caller: Caller, sent: Sent, run: str | None, pressed: Pressed | None = None
    ) -> Begun:
        name, here, nothing = RunName("", run or ""), self.runs.floor.here, cast("Any", None)
        assert isinstance(self.runs.journal, MemoryJournal)
        await self.runs.journal.forget([name])
        ledger = Ledger(())
        if self.held:
            ledger.holds.hold("lease", None, 0, "requests", of=("m", "acme"))
        record = RunRecord(name, "b", "p", "s", 0, background=True)
        here[name] = cast(
            "Any", SimpleNamespace(live=SimpleNamespace(record=record, ledger=ledger))
        )
        self.began.append(anyio.current_time())
        self.most.append(len(here))

        async def work() -> None:
            await anyio.sleep(self.takes_s)
            del here[name]

        self.runs.floor.beside(work)
        return Begun(name.run, nothing)


async def worked(runs: int, seconds: float, **about: Any) -> Working:
    """Sweep for *seconds* where an outage has left so many *runs*."""
    journal = MemoryJournal()
    await put(journal, *(f"left {number}" for number in range(runs)))
    book, nothing = RunBook(journal, RunPolicy(lease_s=1e6)), cast("Any", None)
    behind = Working(OpenDoor(), nothing, (), book, {}, **about)
    with anyio.move_on_after(seconds):
        async with task_group() as group:
            await group.start(book.floor.serve)
            await sweeping(behind.gate, lambda: behind)
    return behind


async def test_what_an_outage_has_left_is_taken_up_within_seconds() -> None:
    behind = await worked(895, 30)

    assert len(behind.began) == 895
    assert behind.began[-1] - behind.began[0] < 12


async def test_no_more_are_at_work_at_once_than_one_process_carries() -> None:
    behind = await worked(500, 100, takes_s=10)

    assert (len(behind.began), max(behind.most)) == (500, 200)
    assert behind.began[-1] - behind.began[0] < 30


async def test_where_they_are_held_no_more_stand_in_line() -> None:
    behind = await worked(60, 100, takes_s=20, held=True)

    assert (len(behind.began), max(behind.most)) == (60, 20)
    assert behind.began[-1] - behind.began[0] < 42


async def put(journal: MemoryJournal, *names: str) -> None:
    for name in names:
        record = RunRecord(RunName("", name), "b", "p", "s", 0, background=True, sent=SENT)
        await journal.put(Stored(record, Standing("interrupted"), 0))


async def refusing(journal: MemoryJournal, seconds: float, goes: str = "") -> Refusing:
    """Sweep for *seconds*."""
    nothing: Any = None
    behind = Refusing(OpenDoor(), nothing, (), RunBook(journal), {}, goes=goes)
    with anyio.move_on_after(seconds):
        await sweeping(behind.gate, lambda: behind)
    return behind


async def swept(policy: Ambiguous) -> list[str]:
    """Return what is gone on with of 30 runs that somebody is asked about, and one that waits."""
    journal = MemoryJournal()
    asked = Standing("interrupted", reason="step_ambiguous")
    waits = Standing("interrupted", reason="journal_lost")
    names = [(f"asked {number}", asked) for number in range(30)] + [("waits", waits)]
    for name, standing in names:
        record = RunRecord(RunName("", name), "b", "p", "s", 0, background=True, sent=SENT)
        await journal.put(Stored(record, standing, 0))
    book = RunBook(journal, RunPolicy(ambiguous=policy))
    nothing: Any = None
    behind = Sweeping(OpenDoor(), nothing, (), book, {})
    with anyio.move_on_after(9):
        await sweeping(behind.gate, lambda: behind)
    return behind.taken


async def test_a_run_that_somebody_is_asked_about_is_left_and_keeps_no_other_from_going_on() -> (
    None
):
    assert await swept("ask") == ["waits"]


async def test_where_nobody_is_asked_every_run_goes_on() -> None:
    assert "asked 0" in await swept("retry")


async def test_a_run_that_cannot_go_on_is_tried_less_and_less_often() -> None:
    journal = MemoryJournal()
    await put(journal, "stuck")

    behind = await refusing(journal, 7200)

    times = [at for _, at in behind.tried]
    gaps = [after - before for before, after in pairwise(times)]
    assert gaps == sorted(gaps)
    assert gaps[0] == 10
    assert len(times) == 10
    assert (await refusing(journal, 6)).tried  # what is configured otherwise tries at once


async def test_runs_that_cannot_go_on_keep_no_other_from_it() -> None:
    journal = MemoryJournal()
    await put(journal, *(f"stuck {n}" for n in range(50)), "good")

    behind = await refusing(journal, 60, goes="good")

    assert "good" in dict(behind.tried)


def test_no_run_is_put_off_for_more_than_an_hour_or_remembered_when_it_is_gone() -> None:
    later, name = Later(lambda: 0.0), RunName("", "run")

    waits = [later.put_off(name) for _ in range(100)]

    assert max(waits) == 3600
    assert later.waits(name)
    later.only([])
    assert not later.waits(name)
    assert later.put_off(name) == waits[0]
    later.only([])
    later.rests(name)
    assert later.waits(name)
    assert later.put_off(name) == waits[0]


async def test_a_run_that_a_bug_keeps_from_going_on_ends_no_process() -> None:
    journal = MemoryJournal()
    await put(journal, "bad", "good", "worse")
    nothing: Any = None
    behind = Broken(OpenDoor(), nothing, (), RunBook(journal), {}, goes="good")
    with anyio.move_on_after(30):
        await sweeping(behind.gate, lambda: behind)

    tried = [name for name, _ in behind.tried]
    assert set(tried) == {"bad", "good", "worse"}
    assert 1 < tried.count("bad") < 4


@pytest.mark.parametrize(
    ("error", "outcome", "status"),
    [(None, "success", 200), (KeyError("a bug"), "internal_error", 500)],
)
async def test_a_bug_in_an_answer_that_nobody_waits_for_costs_that_alone(
    error: Exception | None, outcome: str, status: int
) -> None:
    facts: list[Fact] = []
    nothing: Any = None
    behind = Behind(OpenDoor(), nothing, (facts.append,), RunBook(MemoryJournal()), DIALECTS)
    visit = Visit("r1", "openai_chat", b"", {}, Ledger((facts.append,)))

    @asynccontextmanager
    async def answer() -> AsyncGenerator[AsyncIterator[Event], None]:
        if error is not None:
            raise error
        async with nothing_at_all() as events:
            yield events

    behind.gate.enter()
    await behind._heard(visit, answer())

    (ended,) = [fact for fact in facts if isinstance(fact, RequestFinished)]
    assert (ended.outcome, ended.status, behind.gate.inside) == (outcome, status, 0)
