"""What is done about a step of which nobody knows what came of it: by policy, or as a person says.

The one place that decides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio

from gateway.runs.questions import Questions, Word
from gateway.runs.terms import Ambiguous, Stop, Terms
from gateway.stores.journal.records import RunRecord, StepRecord, Stored
from techniques.core.errors import RunConflict

_SENT: Final = "The step {} was sent before the run broke off, and may have been paid for."
_RESUME: Final = 'POST to its /resume with {"ambiguous": "retry"} to have it made again.'


class Doubts:
    """The doubtful steps of one run that is carried out here."""

    def __init__(self, terms: Terms) -> None:
        self._policy: Ambiguous = terms.ambiguous
        self._questions = terms.questions
        self._turn = anyio.Lock()  # of steps that come together each is asked about once

    @property
    def asks(self) -> bool:
        """Whether somebody is asked, and so a run may go on by itself."""
        return self._questions is not None

    async def stop(
        self, run: RunRecord, known: StepRecord, doubtful: Sequence[StepRecord]
    ) -> Stop | None:
        """Return why the run stops at *known*, None where it is to be made again.

        Where that is for somebody to say, they are asked about all that are *doubtful* at once, as
        the steps have it noted, and the run goes on when all may be made again.
        """
        if self._policy == "retry":
            return None
        if self._policy == "fail":
            return Stop("failed", _doubtful(_SENT.format(known.path)))
        async with self._turn:
            words = [(step, await self._word(run, step)) for step in doubtful]
        stops = [stop for step, word in words if (stop := _stop_at(step, word)) is not None]
        return min(stops, key=lambda stop: stop.why != "failed", default=None)

    async def _word(self, run: RunRecord, step: StepRecord) -> Word | None:
        if self._questions is None:
            return None
        word = None if step.asked is None else await self._questions.look(run, step)
        if word is None:
            word = await self._questions.ask(run, step)
        if word is not None:
            step.asked = word.asked
        return word


def _stop_at(step: StepRecord, word: Word | None) -> Stop | None:
    sent = _SENT.format(step.path)
    if word is None:
        return Stop("left", _doubtful(f"{sent} {_RESUME}"))
    match word.state:
        case "approved":
            return None
        case "rejected":
            message = f"{sent} {word.whom} has decided ({word.asked}) that it is not made again."
            return Stop("failed", RunConflict(message, code="step_rejected"))
        case "pending":
            asks = f"{word.whom} is asked ({word.asked}) whether it is to be made again; or"
            return Stop("left", _doubtful(f"{sent} {asks} {_RESUME}"))


def _doubtful(message: str) -> RunConflict:
    return RunConflict(message, code="step_ambiguous")


async def waits_for_word(stored: Stored, questions: Questions | None) -> bool:
    """Return whether it is no use to go on with a run where nobody has said what is to be done."""
    if stored.standing.reason != "step_ambiguous":
        return False
    if questions is None:
        return True
    asked = [step for step in stored.steps if step.state == "ambiguous" and step.asked is not None]
    words = [await questions.look(stored.record, step) for step in asked]
    states = {word.state for word in words if word is not None}
    return "pending" in states and "rejected" not in states
