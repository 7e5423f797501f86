"""Asks people whether a call is to be made again that may have been paid for."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from gateway.attention.board import Asker, Board, Question
from gateway.attention.questions import Approval
from gateway.config import Config
from gateway.policy.keys import Caller, Door
from gateway.reasons import why_of
from gateway.runs.questions import Word
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.records import NotThere
from gateway.stores.journal.records import RunRecord, StepRecord
from techniques.core.errors import GatewayError

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AskedOfPeople:
    """Asks whom *stated* names on *board*, in the name of the key whose run it is.

    None: the first person of the moment.
    """

    board: Board
    door: Door
    stated: str | None

    @property
    def person(self) -> str:
        """Who is asked."""
        return self.stated or next((one.name for one in self.board.persons.all()), "")

    async def ask(self, run: RunRecord, step: StepRecord) -> Word | None:
        """Ask whether *step* is to be made again; None: nobody can be asked now."""
        try:
            made = await self.board.ask(self._asker(run), self._question(run, step))
        except (GatewayError, DatabaseLost) as error:
            _log.warning("step.not_asked_about", run=run.name.run, reason=why_of(error))
            return None
        return Word(made.id, made.person)

    async def look(self, run: RunRecord, step: StepRecord) -> Word | None:
        """Return how the question stands that *step* says was asked; None: it does not any more.

        Where that cannot be read now, it is taken to be pending.
        """
        try:
            found = await self.board.one(step.asked or "", self._asker(run))
        except NotThere:
            return None
        except DatabaseLost:
            return Word(step.asked or "", self.person)
        if not _is_that(found, self._question(run, step)):
            return None
        match found.state:
            case "pending" | "approved" | "rejected":
                return Word(found.id, found.person, found.state)
            case _:
                return None

    def _asker(self, run: RunRecord) -> Asker:
        owner = run.name.owner or None
        caller = self.door.named(owner) or Caller(owner)
        return Asker(caller.pool, caller.name)

    def _question(self, run: RunRecord, step: StepRecord) -> Question:
        told = {
            "run": run.name.run,
            "session": run.session,
            "technique": run.technique,
            "step": step.path,
            "model": step.model,
            "provider": step.provider,
            "times sent": step.attempts,
        }
        return Question(
            self.person,
            f"A call of the run {run.name.run} may have been paid for. Is it to be made again?",
            "ambiguous_retry",
            "\n".join(f"{name}: {value}" for name, value in told.items() if value),
        )


def _is_that(found: Approval, question: Question) -> bool:
    return (found.kind, found.detail) == (question.kind, question.detail)


def asked_of_people(config: Config, board: Board | None, door: Door) -> AskedOfPeople | None:
    """Return what asks whom *config* names, else the first of its persons; None without any."""
    if board is None:
        return None
    return AskedOfPeople(board, door, config.journal.person)
