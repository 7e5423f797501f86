"""Runs as they are kept, whoever carries them out: looked for, put in, and erased."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.runs.book import RunBook
from gateway.runs.terms import lost_of
from gateway.stores.journal.journal import Journal, JournalLost, Sought
from gateway.stores.journal.records import RunName, Stored
from techniques.core.errors import RunBusy, RunConflict


class Archive:
    """The runs of *book*, and all others in its journal."""

    def __init__(self, book: RunBook) -> None:
        self._book = book

    @property
    def _journal(self) -> Journal:
        return self._book.journal

    async def listed(self, sought: Sought) -> Sequence[Stored]:
        """Return the runs that are sought, the latest first.

        Raises:
            Unavailable: The journal does not answer.
        """
        try:
            return await self._journal.listed(sought)
        except JournalLost as lost:
            raise lost_of(lost) from lost

    async def put(self, brought: Stored, *, replaces: bool = False) -> None:
        """Put a run in, all of it or nothing. With *replaces*, in place of one of its name.

        Raises:
            RunConflict: There is one.
            RunBusy: ... and somebody is at work on it.
            Unavailable: The journal does not answer.
        """
        try:
            there = await self._journal.put(brought, replaces=replaces)
        except JournalLost as lost:
            raise lost_of(lost) from lost
        if there is None:
            return
        run = brought.record.name.run
        if replaces:
            raise RunBusy(f"The run {run} is at work.")
        raise RunConflict(f"There is a run {run} already.", code="run_exists")

    async def forget(self, names: Sequence[RunName]) -> int:
        """Erase runs, those under way too, and return how many there were.

        Raises:
            Unavailable: The journal does not answer.
        """
        self._book.cut_off(names)
        try:
            return await self._journal.forget(names)
        except JournalLost as lost:
            raise lost_of(lost) from lost

    async def erase(self, owner: str) -> int:
        """Erase all runs of a key, those under way too, and return how many there were.

        Raises:
            Unavailable: The journal does not answer.
        """
        return await self._book.erase(owner)
