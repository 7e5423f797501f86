"""How many runs are put away, and how many nobody comes back for; on virtual time."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from gateway.runs.watching import watch
from gateway.stores.journal.journal import JournalLost
from gateway.stores.journal.memory import MemoryJournal

NOW = 10_000_000


class Told(MemoryJournal):
    """A journal that tells *times*, once it is there."""

    def __init__(self, times: Sequence[int | None] | None, lost: int = 0) -> None:
        super().__init__()
        self.times = times
        self.lost = lost

    async def suspended(self, limit: int) -> Sequence[int | None] | None:
        if self.lost:
            self.lost -= 1
            raise JournalLost("away")
        return self.times


async def shown(journal: Told, seconds: float) -> list[tuple[int, int]]:
    """Return what is shown within so many seconds."""
    found: list[tuple[int, int]] = []
    with anyio.move_on_after(seconds):
        await watch(journal, lambda *both: found.append(both), lambda: NOW)
    return found


async def test_a_run_is_overdue_a_quarter_of_an_hour_after_it_could_have_gone_on() -> None:
    late = NOW - 15 * 60 * 1000
    assert await shown(Told([late - 1, late, NOW + 1, None]), 1) == [(4, 1)]


async def test_it_is_looked_again_and_again_also_when_the_journal_was_lost() -> None:
    assert await shown(Told([], lost=1), 31) == [(0, 0)] * 2


@pytest.mark.parametrize("seconds", [1.0, 100.0])
async def test_a_journal_that_cannot_tell_is_not_asked_again(seconds: float) -> None:
    assert await shown(Told(None), seconds) == []
