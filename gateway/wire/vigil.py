"""What is done beside an answer, while it is silent: a bare task, and that as late as may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

Watching: TypeAlias = Coroutine[Any, Any, None]


def begun(watching: Watching) -> Callable[[], object]:
    """Begin to watch, and return what ends that."""
    return asyncio.create_task(watching).cancel  # noqa: TID251 - see ``Exchange.respond``


class Vigil:
    """Watches from when it is begun: most streams are over before there is a silence in them.

    At its end *stop* is called, too. After that it begins no more: a run whose client has left may
    go on, and be held.
    """

    __slots__ = ("_end", "_over", "_stop", "_timer", "_watch")

    def __init__(self, watch: Callable[[], Watching], stop: Callable[[], object]) -> None:
        self._watch = watch
        self._stop = stop
        self._over = False
        self._end: Callable[[], object] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin_after(self, seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        """Begin after so many *seconds*, if nobody begins before."""
        self._timer = loop.call_later(seconds, self.begin)

    def begin(self) -> None:
        """Begin now."""
        if not self._over:
            self._drop()
            self._end = begun(self._watch())

    def end(self) -> None:
        """Watch no more."""
        self._over = True
        self._drop()
        self._stop()

    def _drop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._end is not None:
            self._end()
