"""Ends waits in which nothing happened for too long, with one coarse timer for all of them.

A timer of its own for every read would cost a stream more than passing its bytes on. Here a reader
notes until when it waits, and a sweep every tenth of a second looks for what is overdue; a wait so
ends up to that much late.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Final, Protocol

_SWEEP_S: Final = 0.1


class Waiting(Protocol):
    """Something that waits again and again. ``due``: when that is too long (monotonic)."""

    due: float

    @property
    def waits(self) -> bool:
        """Whether it waits now: a slow reader is no silence."""
        ...

    def expire(self) -> None:
        """End the wait that is overdue."""
        ...


class SilenceWatch:
    """Everything that may be waiting."""

    def __init__(self) -> None:
        self._watched: set[Waiting] = set()
        self._sweeping = False

    def watch(self, waiting: Waiting) -> None:
        """Look after *waiting* until it is forgotten."""
        self._watched.add(waiting)
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)

    def forget(self, waiting: Waiting) -> None:
        """Let *waiting* go."""
        self._watched.discard(waiting)

    def _sweep(self) -> None:
        now = monotonic()
        for waiting in self._watched:
            if now >= waiting.due and waiting.waits:
                waiting.expire()
        self._sweeping = bool(self._watched)
        if self._sweeping:
            asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)
