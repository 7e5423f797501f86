"""Runs that could not be taken up: each is tried again, less and less often."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import anyio

from gateway.stores.journal.records import RunName

_FIRST_S: Final = 10.0
_LONGEST_S: Final = 3600.0
_REST_S: Final = 5.0


class Later:
    """Remembers when each is to be tried again; *clock* tells seconds."""

    def __init__(self, clock: Callable[[], float] = anyio.current_time) -> None:
        self._clock = clock
        self._tried: dict[RunName, tuple[int, float]] = {}

    def put_off(self, name: RunName) -> float:
        """Note that a run could not be taken up; return in how many seconds it is tried again."""
        times = self._tried.get(name, (0, 0.0))[0]
        wait_s = min(_FIRST_S * (1 << min(times, 20)), _LONGEST_S)
        self._tried[name] = (times + 1, self._clock() + wait_s)
        return wait_s

    def waits(self, name: RunName) -> bool:
        """Return whether it is too early to take a run up."""
        return name in self._tried and self._clock() < self._tried[name][1]

    def rests(self, name: RunName) -> None:
        """Note that a run was taken up: should it end at once, it is taken up again in a while."""
        self._tried[name] = (0, self._clock() + _REST_S)

    def only(self, names: Iterable[RunName]) -> None:
        """Forget all runs but these, which are those that wait to be taken up."""
        self._tried = {name: self._tried[name] for name in names if name in self._tried}
