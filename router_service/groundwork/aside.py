"""Work that takes long is done beside the loop, so that everybody else is served meanwhile.

A body of very many items costs tens of microseconds for each of them, whoever reads or writes it. A
thread makes that no faster, but the loop has its turn every few milliseconds. One such piece of
work is done at a time: each further one would take another part of the loop's turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

ResultT = TypeVar("ResultT")

MANY: Final = 1000
"""Items of a conversation that are worth a thread: about 30 ms of work."""
_LARGE: Final = 64 * 1024
_MANY_OPENED: Final = 2 * MANY
_MANY_PARTS: Final = 100_000
_LIMITER: Final[RunVar[anyio.CapacityLimiter]] = RunVar("aside")


def is_heavy(raw: bytes) -> bool:
    """Return whether the JSON text *raw* has very many values."""
    if len(raw) < _LARGE:
        return False
    opened = raw.count(b"{") + raw.count(b"[")
    return opened > _MANY_OPENED or raw.count(b",") > _MANY_PARTS


async def aside(work: Callable[[], ResultT], *, heavy: bool) -> ResultT:
    """Return what *work* returns, which is done in a thread if it is *heavy*."""
    if not heavy:
        return work()
    return await anyio.to_thread.run_sync(work, limiter=_limiter())


def _limiter() -> anyio.CapacityLimiter:
    try:
        return _LIMITER.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(1)
        _LIMITER.set(limiter)
        return limiter
