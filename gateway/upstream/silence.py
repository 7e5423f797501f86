"""Ends waits in which nothing happened for too long, with one coarse timer for all of them.

A timer of its own for every read would cost a stream more than passing its bytes on. Here a read
is an entry in a set, and a sweep every tenth of a second looks for entries that are overdue; a
wait so ends up to that much late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import monotonic
from typing import Any, Final, TypeVar

T = TypeVar("T")

_SWEEP_S: Final = 0.1


class Waiting:
    """One place where a task waits again and again, at most *allowed_s* seconds each time."""

    __slots__ = ("_watch", "allowed_s", "due", "expired", "task")

    def __init__(self, watch: SilenceWatch, allowed_s: float) -> None:
        self._watch = watch
        self.allowed_s = allowed_s
        self.due = 0.0
        self.expired = False
        self.task: asyncio.Task[Any] | None = None

    async def wait(self, awaited: Awaitable[T]) -> T:
        """Return what *awaited* gives.

        Raises:
            TimeoutError: It gave nothing for as long as is allowed.
        """
        self.task = task = asyncio.current_task()
        self.due = monotonic() + self.allowed_s
        self._watch.watch(self)
        try:
            return await awaited
        except asyncio.CancelledError:
            if self.expired and task is not None and not task.uncancel():
                raise TimeoutError("Nothing came.") from None
            raise
        finally:
            self._watch.forget(self)


class SilenceWatch:
    """The waits that are going on."""

    def __init__(self) -> None:
        self._waits: set[Waiting] = set()
        self._sweeping = False

    def watch(self, waiting: Waiting) -> None:
        """Take *waiting* in until it is forgotten."""
        self._waits.add(waiting)
        if not self._sweeping:
            self._sweeping = True
            asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)

    def forget(self, waiting: Waiting) -> None:
        """Let *waiting* go."""
        self._waits.discard(waiting)

    def _sweep(self) -> None:
        now = monotonic()
        for waiting in self._waits:
            if now >= waiting.due and not waiting.expired and waiting.task is not None:
                waiting.expired = True
                waiting.task.cancel()
        self._sweeping = bool(self._waits)
        if self._sweeping:
            asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)
