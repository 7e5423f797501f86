"""Observations on their way to a router far away: bounded, in order, and never in anyone's way."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, TypeAlias

import anyio
import structlog

from router_service.contract import Observation, RouterGone

Result: TypeAlias = Literal["sent", "dropped", "failed"]
"""Of observations: sent, or given up; of an attempt to send: failed."""

_BATCH: Final = 250
_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 30.0

_log = structlog.get_logger()


class NotTaken(Exception):
    """What was sent is refused for what it is: it would be again."""


class Outbox:
    """Takes rows and sends them soon by *send*, *most* of them waiting at a time.

    What does not fit is dropped, and counted by *count*; so is what the router refuses. While it
    does not answer, everything waits.
    """

    def __init__(
        self,
        send: Callable[[Sequence[Observation]], Awaitable[None]],
        count: Callable[[Result, int], None],
        most: int,
    ) -> None:
        self._send = send
        self._count = count
        self._most = most
        self._waiting: deque[Observation] = deque()
        self._come = anyio.Event()
        self._turn = anyio.Lock()  # what is said of a row must not pass it
        self._failing = False

    def put(self, rows: Sequence[Observation]) -> None:
        """Take *rows*; never waits, never fails."""
        room = self._most - len(self._waiting)
        self._waiting.extend(rows[:room])
        if len(rows) > room:
            self._count("dropped", len(rows) - room)
        self._come.set()

    def has(self, request_id: str) -> bool:
        """Return whether something of that request waits."""
        return any(row.request_id == request_id for row in self._waiting)

    async def drop(self, caller: str) -> int:
        """Let what waits of *caller* go, and return how many rows that were."""
        async with self._turn:
            kept = [row for row in self._waiting if row.caller != caller]
            gone = len(self._waiting) - len(kept)
            self._waiting = deque(kept)
        return gone

    async def run(self) -> None:
        """Send what comes, until cancelled."""
        pause = _PAUSE_S
        while True:
            await self._come.wait()
            await anyio.sleep(pause)
            self._come = anyio.Event()
            try:
                await self.flush()
            except RouterGone as gone:
                self._count("failed", 1)
                if not self._failing:
                    _log.warning("observations.unsent", waiting=len(self._waiting), why=str(gone))
                self._failing = True
                self._come.set()
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                self._failing, pause = False, _PAUSE_S

    async def flush(self) -> None:
        """Send everything that waits, now.

        Raises:
            RouterGone: It could not be sent, and waits on.
        """
        async with self._turn:
            while self._waiting:
                batch = [row for row, _ in zip(self._waiting, range(_BATCH), strict=False)]
                await self._send_some(batch)
                for _ in batch:
                    self._waiting.popleft()

    async def finish(self, seconds: float) -> None:
        """Send what waits, for *seconds* at the most; what is left then is dropped."""
        with anyio.move_on_after(seconds, shield=True):
            try:
                await self.flush()
            except RouterGone as gone:
                _log.warning("observations.unsent", waiting=len(self._waiting), why=str(gone))
        if self._waiting:
            self._count("dropped", len(self._waiting))
            self._waiting.clear()

    async def _send_some(self, batch: Sequence[Observation]) -> None:
        """Send *batch*; where one of it is refused, the others are sent without it."""
        try:
            await self._send(batch)
        except NotTaken as refused:
            if len(batch) == 1:
                self._count("dropped", 1)
                _log.error("observations.refused", why=str(refused))
                return
            middle = len(batch) // 2
            await self._send_some(batch[:middle])
            await self._send_some(batch[middle:])
        else:
            self._count("sent", len(batch))
