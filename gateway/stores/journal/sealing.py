"""Which parts of a run's records are closed, and where that is put which they are closed in. Pure.

They are what clients wrote and models answered, and the run's dice. The closed parts of a record
are one text, which stands where otherwise JSON of the gateway's own stands, or a name that it
gives: so no word of a client or a model is ever taken for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import orjson

from gateway.stores.journal.journal import Write
from gateway.stores.journal.records import (
    JournalLost,
    RunName,
    RunRecord,
    Sent,
    Standing,
    StepRecord,
    Stored,
)
from gateway.stores.journal.seal import Place, Seal, is_closed

_CLOSED: Final = "sealed"
"""Stands for the dialect of a request that is closed."""


class Sealing:
    """Closes and opens records with *seal*; what is not closed is opened as it is."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal

    def record(self, record: RunRecord) -> RunRecord:
        """Return *record*, closed: its request, what came with it, and its dice."""
        sent = record.sent and [record.sent.dialect, record.sent.raw, dict(record.sent.headers)]
        brought = record.checkpoint and dict(record.checkpoint)
        closed = self._closed([record.secret, sent, brought], record.name, "request")
        return replace(record, secret="", sent=Sent(_CLOSED, closed, {}), checkpoint=None)

    def opened_record(self, record: RunRecord) -> RunRecord:
        """Return what ``record`` was given.

        Raises:
            JournalSealed: It cannot be opened; so of the others.
        """
        if record.sent is None or record.sent.dialect != _CLOSED:
            return record
        secret, sent, brought = self._opened(record.sent.raw, record.name, "request")
        sent = sent and Sent(*sent)
        return replace(record, secret=secret, sent=sent, checkpoint=brought)

    def write(self, write: Write) -> Write:
        """Return what is to be written, closed."""
        name, standing, record = write.hold.name, write.standing, write.record
        return replace(
            write,
            steps=tuple(self._step(name, step) for step in write.steps),
            standing=standing and self._standing(name, standing),
            record=record and self.record(record),
        )

    def closed(self, stored: Stored) -> Stored:
        """Return a whole run, closed."""
        name = stored.record.name
        return replace(
            stored,
            record=self.record(stored.record),
            standing=self._standing(name, stored.standing),
            steps=tuple(self._step(name, step) for step in stored.steps),
        )

    def opened(self, stored: Stored) -> Stored:
        """Return a whole run, opened."""
        name = stored.record.name
        return replace(
            stored,
            record=self.opened_record(stored.record),
            standing=self._opened_standing(name, stored.standing),
            steps=tuple(self._opened_step(name, step) for step in stored.steps),
        )

    def _standing(self, name: RunName, standing: Standing) -> Standing:
        """Close the answer, and what was decided of the prompt."""
        if standing.answer is None and not standing.decided:
            return standing
        closed = self._closed([standing.answer, dict(standing.decided)], name, "answer")
        return replace(standing, answer=closed, decided={})

    def _opened_standing(self, name: RunName, standing: Standing) -> Standing:
        if standing.answer is None or not is_closed(standing.answer):
            return standing
        answer, decided = self._opened(standing.answer, name, "answer")
        return replace(standing, answer=answer, decided=decided)

    def _step(self, name: RunName, step: StepRecord) -> StepRecord:
        """Close what was answered, as far as it has come, and how it failed."""
        parts = [step.events, step.partial, step.error]
        if parts == [None, None, None]:
            return step
        closed = self._closed(parts, name, f"step {step.path}")
        return replace(step, events=closed, partial=None, error=None)

    def _opened_step(self, name: RunName, step: StepRecord) -> StepRecord:
        if step.events is None or not is_closed(step.events):
            return step
        events, partial, error = self._opened(step.events, name, f"step {step.path}")
        return replace(step, events=events, partial=partial, error=error and tuple(error))

    def _closed(self, parts: list[Any], name: RunName, what: str) -> str:
        try:
            text = orjson.dumps(parts).decode()
        except TypeError as error:
            raise JournalLost(f"a record cannot be written: {error}") from error
        return self._seal.closed(text, Place(name, what))

    def _opened(self, closed: str, name: RunName, what: str) -> Any:
        return orjson.loads(self._seal.opened(closed, Place(name, what)))


def without_contents(stored: Stored) -> Stored:
    """Return a run as it is told of where it cannot be opened."""
    return replace(
        stored,
        record=replace(stored.record, sent=None, checkpoint=None),
        standing=replace(stored.standing, answer=None, decided={}),
        steps=tuple(replace(step, events=None, partial=None, error=None) for step in stored.steps),
    )
