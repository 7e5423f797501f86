"""An event loop of asyncio for which time passes at once wherever everybody would only wait."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

_LOOK_S = 0.001
"""How long others get to answer, threads and sockets, before the clock is put forward."""


class _Selector(selectors.DefaultSelector):
    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        found = super().select(min(timeout, _LOOK_S))
        if not found:
            self.skipped += timeout
        return found


class HurriedLoop(asyncio.SelectorEventLoop):
    """A loop whose ``time`` is ahead of the machine's by all that nobody had to wait for."""

    def __init__(self) -> None:
        self._patient = _Selector()
        super().__init__(self._patient)

    def time(self) -> float:
        return super().time() + self._patient.skipped
