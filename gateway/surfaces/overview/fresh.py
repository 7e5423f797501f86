"""Values that many ask for and that take a while to read: read by one, for all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeAlias, TypeVar

import anyio

from gateway.clock import loop_time
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.journal.journal import JournalLost
from gateway.stores.ledger import StoreLost

Lost: TypeAlias = DatabaseLost | JournalLost | StoreLost
LOST: Final = (DatabaseLost, JournalLost, StoreLost)

T = TypeVar("T")
_REST: Final = 20
"""How many times as long as a reading took, none is made after it."""


class Fresh(Generic[T]):
    """What *read* returns, read anew at most every *least_s* seconds.

    Where reading takes long it is done less often: at most a twentieth of the time goes into it.
    That there is no answer is told as long as it is fresh, too.
    """

    def __init__(self, read: Callable[[], Awaitable[T]], least_s: float) -> None:
        self._read = read
        self._least_s = least_s
        self._due = 0.0
        self._found: list[T] = []
        self._failure: Lost | None = None
        self._lock = anyio.Lock()  # who comes while it is read waits for that, and reads nothing

    async def get(self) -> T:
        """Return what is known, or read it if that is too old.

        Raises:
            Lost: What is read does not answer.
        """
        async with self._lock:
            if loop_time() >= self._due:
                await self._renew()
            if self._failure is not None:
                raise self._failure.with_traceback(None)
            return self._found[0]

    async def _renew(self) -> None:
        began = loop_time()
        try:
            self._found, self._failure = [await self._read()], None
        except LOST as failure:
            self._failure = failure
        now = loop_time()
        self._due = now + max(self._least_s, _REST * (now - began))
