"""Runs that nobody waits for are taken up by themselves, those that may go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anyio

from gateway.policy.keys import OpenDoor
from gateway.runs.book import RunBook
from gateway.runs.terms import Ambiguous
from gateway.runs.wanted import RunPolicy
from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, RunRecord, Sent, Standing, Stored
from gateway.surfaces.behind import Behind, sweeping

SENT = Sent("openai_chat", "{}", {})


@dataclass(frozen=True, slots=True)
class Sweeping(Behind):
    """Notes what it would go on with."""

    taken: list[str] = field(default_factory=list)

    async def _taken_up(self, name: RunName, sent: Sent) -> None:
        self.taken.append(name.run)


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
    with anyio.move_on_after(12):
        await sweeping(behind.gate, lambda: behind)
    return behind.taken


async def test_a_run_that_somebody_is_asked_about_is_left_and_keeps_no_other_from_going_on() -> (
    None
):
    assert await swept("ask") == ["waits"]


async def test_where_nobody_is_asked_every_run_goes_on() -> None:
    assert "asked 0" in await swept("retry")
