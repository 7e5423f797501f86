"""The answer to a call, between the connection that it comes in on and whoever reads it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

import anyio.lowlevel

from gateway.upstream.faults import broken
from gateway.upstream.packed import CODINGS, Packed
from techniques.core.errors import UpstreamFailed

MOST_WAITING: Final = 256 * 1024
"""Bytes that may wait to be read before the connection is not read any more."""


class Source(Protocol):
    """Where an answer comes from."""

    def resume(self) -> None:
        """Read on: what waited was taken."""
        ...


SourceT = TypeVar("SourceT", bound=Source)


class Answer(Generic[SourceT]):
    """The answer to one call, read as it comes in. Closing it tells *over*, once.

    ``status`` is 0 until the head has come; header names are lower case. ``size`` is how many
    bytes wait to be read, as they came. ``missed``: its connection was a kept one, and ended or was
    out of step before anything of the answer came: the call can be made anew on another.
    """

    __slots__ = (
        "_error",
        "_loop",
        "_over",
        "_packed",
        "_parts",
        "_waiter",
        "complete",
        "connection",
        "due",
        "headers",
        "missed",
        "size",
        "status",
    )

    def __init__(
        self, connection: SourceT, until: float, over: Callable[[Answer[SourceT]], None]
    ) -> None:
        self.connection = connection
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.missed = False
        self.size = 0
        self.due = until
        self._over: Callable[[Answer[SourceT]], None] | None = over
        self._parts: list[bytes] = []
        self._error: UpstreamFailed | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._packed: Packed | None = None

    def move(self, connection: SourceT) -> None:
        """Forget that the answer was missed: it is to come on *connection*."""
        self.connection = connection
        self.missed = False
        self._error = None

    async def headed(self) -> None:
        """Wait for the head.

        Raises:
            UpstreamFailed: It did not come.
        """
        while not self.status:
            if self._error is not None:
                raise self._error
            await self._more()

    async def read(self) -> bytes:
        """Return the next bytes; see ``Response.read``."""
        packed = self._packed
        if packed is not None and (data := packed.take()):
            await anyio.lowlevel.checkpoint()  # few bytes may be a thousand steps
            return data
        while True:
            while not self._parts:
                if self._error is not None:
                    raise self._error
                if self.complete:
                    return self._end()
                await self._more()
            parts = self._parts
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            if self.size > MOST_WAITING:
                self.connection.resume()
            self.size = 0
            if packed is None or (data := packed.unpack(data)):
                return data

    def wait_until(self, moment: float) -> None:
        """Wait for bytes until *moment* and no longer; see ``Response.wait_until``."""
        self.due = moment

    def close(self) -> None:
        """End the call."""
        over, self._over = self._over, None
        if over is not None:
            over(self)

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """Take the head."""
        self.status = status
        self.headers = headers
        if headers.get("content-encoding", "").lower() in CODINGS:  # although we did not ask for it
            self._packed = Packed()

    def add(self, data: bytes) -> None:
        """Take some of the body."""
        self._parts.append(data)
        self.size += len(data)

    def finish(self) -> None:
        """Take the end."""
        self.complete = True

    def fail(self, error: UpstreamFailed) -> None:
        """End the answer with *error*, after what has come of it."""
        self._error = self._error or error
        self.wake()

    @property
    def waits(self) -> bool:
        """Whether someone waits for bytes."""
        return self._waiter is not None

    def expire(self) -> None:
        """End a wait that has lasted too long."""
        self.fail(UpstreamFailed("The provider fell silent.", "timeout", retryable=True))

    def wake(self) -> None:
        """Let whoever waits look again."""
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _end(self) -> bytes:
        """Return that nothing follows; an end in the middle of what is packed is none."""
        if self._packed is not None and not self._packed.whole:
            raise broken(None)
        return b""

    def _more(self) -> asyncio.Future[None]:
        self._waiter = waiter = self._loop.create_future()
        return waiter
