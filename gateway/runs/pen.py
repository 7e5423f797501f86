"""Writes one run down. What the journal did not take is written with the next word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import anyio

from gateway.stores.journal.journal import Hold, Journal, JournalLost, Write
from gateway.stores.journal.records import RunRecord, Standing, StepRecord

_AGAIN_S: Final = 5.0
"""How long a journal that was lost is left alone: a run must not wait for it at each word."""


class Held(NamedTuple):
    """A run's journal, and the claim by which it is written there."""

    journal: Journal
    hold: Hold


class Pen:
    """Writes the steps of a run, and how it stands."""

    def __init__(self, held: Held, clock: Callable[[], int]) -> None:
        self.hold = held.hold
        self._journal = held.journal
        self._clock = clock
        self._late: dict[str, StepRecord] = {}
        self._again_at = 0.0

    async def write(self, step: StepRecord, standing: Standing | None) -> None:
        """Write *step* and what is late, and *standing*; it lasts when this returns.

        Raises:
            StaleToken: Another has claimed the run.
            JournalLost: The journal does not take it; it is written with what comes next.
        """
        step.at_ms = self._clock()
        late = {**self._late, step.path: step}
        try:
            await self._try(Write(self.hold, tuple(late.values()), standing))
        except JournalLost:
            self._late[step.path] = step
            raise
        for path, written in late.items():
            if self._late.get(path) is written:
                del self._late[path]

    async def _try(self, write: Write) -> None:
        if anyio.current_time() < self._again_at:
            raise JournalLost("it was lost a moment ago")
        try:
            await self._journal.write(write)
        except JournalLost:
            self._again_at = anyio.current_time() + _AGAIN_S
            raise

    async def end(self, standing: Standing, record: RunRecord | None = None) -> None:
        """Write how the run stands and what is late, and give up the claim.

        Raises:
            StaleToken: Another has claimed the run.
            JournalLost: The journal does not take it.
        """
        late = tuple(self._late.values())
        await self._journal.write(Write(self.hold, late, standing, ends=True, record=record))
