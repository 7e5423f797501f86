"""The order in which settled steps are heard again: that in which they had ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import anyio

from gateway.stores.journal.records import StepRecord

_TURN_S: Final = 1.0
"""How long a settled step waits for one that ended before it and is not asked for."""


class Order:
    """Which of *steps* are still to be heard, up to the last that was completed.

    ``last`` is the place of that one among those that have ended.
    """

    def __init__(self, steps: Iterable[StepRecord]) -> None:
        steps = list(steps)
        self.last = max((step.seq for step in steps if step.state == "completed"), default=0)
        self._due = {s.path: s.seq for s in steps if self.has(s)}
        self._moved = anyio.Event()

    def __iter__(self) -> Iterator[str]:
        """Yield the paths of what is still to be heard."""
        return iter(self._due)

    def has(self, step: StepRecord) -> bool:
        """Return whether *step* had ended before the run stopped, and so is not made again."""
        return 0 < step.seq <= self.last

    def heard(self, path: str) -> None:
        """Note that the step at *path* has been taken in."""
        if self._due.pop(path, None) is not None:
            self._moved.set()
            self._moved = anyio.Event()

    def overtaken(self, known: StepRecord, steps: Mapping[str, StepRecord]) -> None:
        """Wait no more to hear *known*, nor those of *steps* that were asked for after it."""
        for path in list(self._due):
            if path == known.path or 0 < known.seq <= steps[path].after:
                self.heard(path)

    async def turn(self, path: str) -> None:
        """Wait until all that ended before the step at *path* has been heard."""
        own = self._due.get(path, 0)
        while self._due and min(self._due.values()) < own and await self._moves():
            pass

    async def all_heard(self) -> None:
        """Wait until everything has been heard."""
        while self._due:
            if not await self._moves():
                return
        if self.last:  # what was heard last may yet call others off
            for _ in range(3):
                await anyio.lowlevel.checkpoint()

    async def _moves(self) -> bool:
        """Wait until a step has been heard; return False where that takes too long."""
        moved = self._moved
        with anyio.move_on_after(_TURN_S) as waited:
            await moved.wait()
        return not waited.cancelled_caught
