"""The answer to a call that asks for nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from techniques.core.events import Event, Finished


@asynccontextmanager
async def nothing() -> AsyncGenerator[AsyncIterator[Event], None]:
    """Answer who asked nothing; no model is called."""

    async def events() -> AsyncGenerator[Event, None]:
        yield Finished()

    async with aclosing(events()) as told:
        yield told
