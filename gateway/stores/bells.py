"""Waking who waits for a grant."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import anyio

_REMEMBERED: Final = 4096


class Bells:
    """Wakes waiters by name. A ring that comes before its waiter does is kept for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, anyio.Event] = {}
        self._early: OrderedDict[str, None] = OrderedDict()

    def ring(self, name: str) -> None:
        """Wake who waits for *name*, now or when it comes."""
        if (event := self._waiting.get(name)) is not None:
            event.set()
            return
        self._early[name] = None
        if len(self._early) > _REMEMBERED:
            self._early.popitem(last=False)

    def forget(self, name: str) -> None:
        """Drop a ring that nobody will wait for."""
        self._early.pop(name, None)

    async def wait(self, name: str, timeout_s: float) -> None:
        """Return when *name* is rung, or after *timeout_s*."""
        if name in self._early:
            del self._early[name]
            return
        event = self._waiting.setdefault(name, anyio.Event())
        try:
            with anyio.move_on_after(timeout_s):
                await event.wait()
        finally:
            self._waiting.pop(name, None)
