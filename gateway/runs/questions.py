"""How somebody is asked whether a call is to be made again that may have been paid for."""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from gateway.stores.journal.records import RunRecord, StepRecord


class Word(NamedTuple):
    """How a question stands. ``asked`` is its id, ``whom`` is who decides it."""

    asked: str
    whom: str
    state: Literal["pending", "approved", "rejected"] = "pending"


class Questions(Protocol):
    """Asks about steps; the same step, sent as often, is the same question."""

    async def ask(self, run: RunRecord, step: StepRecord) -> Word | None:
        """Ask whether *step* is to be made again; None: nobody can be asked now."""
        ...

    async def look(self, run: RunRecord, step: StepRecord) -> Word | None:
        """Return how the question stands that *step* says was asked; None: it does not any more."""
        ...
