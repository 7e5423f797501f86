"""Looks now and then how many runs are put away, and how many of them nobody comes back for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import anyio
import structlog

from gateway.reasons import why_of
from gateway.stores.journal.journal import Journal, JournalLost
from gateway.stores.journal.memory import wall_ms

_EVERY_S: Final = 15.0
_MOST: Final = 1000
_LATE_MS: Final = 15 * 60 * 1000
"""After which one that could have gone on counts as overdue."""

_log = structlog.get_logger()


async def watch(
    journal: Journal, show: Callable[[int, int], None], clock: Callable[[], int] = wall_ms
) -> None:
    """*show* how many runs are put away and how many are overdue, until cancelled.

    Of a journal that cannot tell, nothing is shown.
    """
    while True:
        try:
            times = await journal.suspended(_MOST)
        except JournalLost as lost:
            _log.warning("journal.lost", reason=why_of(lost))
        else:
            if times is None:
                return
            late = clock() - _LATE_MS
            show(len(times), sum(at is not None and at < late for at in times))
        await anyio.sleep(_EVERY_S)
