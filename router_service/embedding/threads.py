"""Work that takes the processor for long is done in a thread, so that the event loop goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio
import anyio.to_thread

_WAITING: Final = 32


class Aside:
    """Does one text after the other in a thread; with 32 waiting, the next is not embedded at all.

    Nobody is then kept waiting for long, and a request can do without a vector. Who is cancelled
    leaves the queue at once, but not the work: what was begun keeps its place until it is done.
    """

    def __init__(self, work: Callable[[str], Sequence[float] | None]) -> None:
        self._work = work
        self._limiter: anyio.CapacityLimiter | None = None

    async def __call__(self, text: str) -> Sequence[float] | None:
        """Return what the work makes of *text*; None if too many are waiting."""
        if self._limiter is None:  # made here, for it belongs to the event loop
            self._limiter = anyio.CapacityLimiter(1)
        if self._limiter.statistics().tasks_waiting >= _WAITING:
            return None
        return await anyio.to_thread.run_sync(self._work, text, limiter=self._limiter)
