"""Gives back what a request as a whole holds, however its answer ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

from gateway.pacing.run import Run
from techniques.core.channel import EventStream
from techniques.core.events import Event


class Closing:
    """The events of *answer*, after which *run* gives back what it holds."""

    __slots__ = ("_answer", "_run")

    def __init__(self, run: Run, answer: EventStream) -> None:
        self._run = run
        self._answer = answer

    async def __aenter__(self) -> AsyncIterator[Event]:
        try:
            return await self._answer.__aenter__()
        except BaseException:
            self._run.close()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._answer.__aexit__(kind, error, trace)
        finally:
            self._run.close()
