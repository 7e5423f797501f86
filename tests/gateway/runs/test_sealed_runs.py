"""Runs whose journal is encrypted go on as others do; with another key they are not paid again."""

from __future__ import annotations

import anyio
import pytest

from gateway.stores.journal.memory import MemoryJournal
from gateway.stores.journal.records import RunName, written
from gateway.stores.journal.seal import Seal
from gateway.stores.journal.sealed import SealedJournal
from techniques.core.errors import Unavailable
from techniques.core.events import Warned
from tests.gateway.runs.scene import World, now_ms

QUESTION = "What is 6 * 7?"
KEY, OTHER = b"k" * 32, b"o" * 32


async def test_an_encrypted_run_goes_on_elsewhere_with_what_was_settled() -> None:
    inner = MemoryJournal(now_ms)
    world = World(journal=SealedJournal(inner, Seal([KEY])))
    async with world.replica() as first, world.replica() as second:
        expected = await first.ask(run="undisturbed")
        assert await first.dies(first.journal.written + 4)
        await anyio.sleep(15)
        assert await second.ask() == expected
        assert (await world.stored()).standing.replayed > 0
        found = await inner.find(RunName("", "run"))
        assert found is not None
        assert QUESTION not in written(found.record)


async def test_a_run_that_cannot_be_opened_is_refused_to_who_names_it_and_costs_nothing() -> None:
    inner = MemoryJournal(now_ms)
    before = World(journal=SealedJournal(inner, Seal([KEY])))
    async with before.replica() as replica:
        await replica.ask()
    after = World(journal=SealedJournal(inner, Seal([OTHER])))
    async with after.replica() as replica:
        with pytest.raises(Unavailable) as told:
            await replica.ask()
        assert told.value.code == "journal_sealed"
        with pytest.raises(Unavailable) as told:
            await replica.book.find(RunName("", "run"))
        assert told.value.code == "journal_sealed"
        assert after.asked == []


async def test_a_request_without_a_name_does_not_wait_for_a_run_that_cannot_be_opened() -> None:
    inner = MemoryJournal(now_ms)
    before = World(journal=SealedJournal(inner, Seal([KEY])))
    async with before.replica() as replica:
        assert await replica.dies(2, run=None)
    await anyio.sleep(15)
    after = World(journal=SealedJournal(inner, Seal([OTHER])))
    async with after.replica() as replica:
        with pytest.raises(AssertionError):  # it is to be carried out without the journal
            await replica.ask(run=None)
        assert [fact for fact in after.facts if isinstance(fact, Warned)] == [
            Warned("journal_lost")
        ]
