"""The way of events from one task to another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Passage(Generic[T]):
    """Passes items on one at a time: who gives one waits until it was taken.

    For one giver and one taker. A memory stream of anyio's is for any number of both, and costs
    several times as much.
    """

    __slots__ = ("_given", "_item", "_taken", "ended")

    _item: T

    def __init__(self) -> None:
        self._given = anyio.Semaphore(0, fast_acquire=True)
        self._taken = anyio.Semaphore(0, fast_acquire=True)
        self.ended = False

    async def give(self, item: T) -> None:
        """Wait until *item* was taken."""
        self._item = item
        self._given.release()
        await self._taken.acquire()

    def end(self) -> None:
        """Tell the taker, now and whenever it asks again, that nothing follows."""
        self.ended = True
        self._given.release()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        if not self.ended:
            await self._given.acquire()
        if self.ended:
            raise StopAsyncIteration
        item = self._item
        self._taken.release()
        return item
