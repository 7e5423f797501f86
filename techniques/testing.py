"""A channel that follows a script, for tests of anything that speaks to a channel."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio

from techniques.core.errors import GatewayError
from techniques.core.events import Event
from techniques.core.reply import Reply, replied, unfold
from techniques.core.request import Request


@dataclass(frozen=True, slots=True)
class Line:
    """One scripted answer: wait *after* seconds (virtual in tests), then reply or fail.

    With *breaks*, that error comes after the reply's pieces instead of its end.
    """

    reply: Reply | GatewayError
    after: float = 0.0
    breaks: GatewayError | None = None


Script: TypeAlias = Iterable[Line | str] | Callable[[Request], Line | str]


@dataclass(slots=True)
class ScriptedChannel:
    """Answers from a script and remembers what it was asked.

    Script by request, not by order, wherever calls run at once.

    Attributes:
        asked: The requests, in the order they were opened.
        open_calls: Calls open at this moment; 0 when everything was closed.
        most_open: The most calls ever open at once.
    """

    script: Script
    asked: list[Request] = field(default_factory=list)
    open_calls: int = 0
    most_open: int = 0

    def __post_init__(self) -> None:
        if not callable(self.script):
            lines = iter(self.script)
            self.script = lambda _request: next(lines)

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Play the next line for *request*."""
        assert callable(self.script)
        self.asked.append(request)
        line = self.script(request)
        line = Line(replied(line)) if isinstance(line, str) else line
        self.open_calls += 1
        self.most_open = max(self.most_open, self.open_calls)
        try:
            await anyio.sleep(line.after)
            if isinstance(line.reply, GatewayError):
                raise line.reply
            async with aclosing(_play(line.reply, line.breaks)) as events:
                yield events
        finally:
            self.open_calls -= 1


async def _play(reply: Reply, breaks: GatewayError | None) -> AsyncGenerator[Event, None]:
    events = list(unfold(reply))
    for event in events[:-1] if breaks else events:
        yield event
        await anyio.lowlevel.checkpoint()
    if breaks:
        raise breaks
