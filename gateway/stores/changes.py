"""How replicas tell each other at once that something has changed: keys, or the configuration.

Only a hint: who misses one of keys finds the change in the database a moment later.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol, TypeAlias

import anyio

Wait: TypeAlias = Callable[[float], Awaitable[None]]
"""Returns when something has changed, or after so many seconds."""

Hear: TypeAlias = Callable[[float], Awaitable[str | None]]
"""Returns what was announced last, when something is or after so many seconds; None: not known."""


class Changes(Protocol):
    """Tells of changes, and of nothing that changed."""

    async def publish(self) -> None:
        """Tell everyone, this process too. Never fails: it is a hint."""
        ...

    def subscribe(self) -> AbstractAsyncContextManager[Wait]:
        """Give what waits for the next change; nothing told while it is open is missed."""
        ...


class LocalChanges:
    """Within one process."""

    def __init__(self) -> None:
        self._told = anyio.Event()

    async def publish(self) -> None:
        """Tell every subscriber."""
        self._told.set()
        self._told = anyio.Event()

    @asynccontextmanager
    async def subscribe(self) -> AsyncGenerator[Wait, None]:
        """Give what waits for the next change."""
        seen = self._told

        async def wait(seconds: float) -> None:
            nonlocal seen
            with anyio.move_on_after(seconds):
                await seen.wait()
            seen = self._told

        yield wait


class Announcements(Protocol):
    """Tells what there is now, in a word that is compared."""

    async def announce(self, text: str) -> None:
        """Tell everyone, this process too. Never fails: it is a hint."""
        ...

    def listen(self) -> AbstractAsyncContextManager[Hear]:
        """Give what waits for what is announced next."""
        ...


class NoAnnouncements:
    """There is nobody else."""

    async def announce(self, text: str) -> None:
        """Tell nobody."""

    @asynccontextmanager
    async def listen(self) -> AsyncGenerator[Hear, None]:
        """Give what hears nothing."""

        async def hear(seconds: float) -> str | None:
            await anyio.sleep(seconds)
            return None

        yield hear
