"""Between a request and the meters: facts wait here a moment, and are read in one go.

A meter that reads a hundred facts at once costs a third of one that reads them one by one between
other work, and a request does not wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import structlog

from gateway.metering.ledger import Fact

Reader: TypeAlias = Callable[[Sequence[Fact]], None]
"""A meter: reads facts in the order in which they happened. Must be quick."""

_WAIT_S: Final = 0.05
_MOST: Final = 2048

_log = structlog.get_logger()


class Spool:
    """Hands facts to *meters*, a twentieth of a second later or when there are many."""

    def __init__(self, meters: tuple[Reader, ...]) -> None:
        self._meters = meters
        self._facts: list[Fact] = []
        self._due = False

    def __call__(self, fact: Fact) -> None:
        """Take *fact*; never fails."""
        self._facts.append(fact)
        if len(self._facts) >= _MOST:
            self.drain()
        elif not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(_WAIT_S, self._on_time)

    def drain(self) -> None:
        """Hand over what waits, now. A meter that fails loses these facts, and is logged."""
        facts, self._facts = self._facts, []
        if not facts:
            return
        for meter in self._meters:
            try:
                meter(facts)
            except Exception:  # noqa: BLE001 - one of the three boundaries: facts must not hurt
                _log.exception("meter.failed", facts=len(facts))

    def _on_time(self) -> None:
        self._due = False
        self.drain()
