"""Questions in the database, which replicas share."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, fields
from typing import Any, Final

import anyio
import orjson
from sqlalchemy import ColumnElement, Select, and_, delete, func, insert, or_, select, update
from sqlalchemy.engine import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.attention.questions import Absence, Approval, Ask, Decision, Sought, State
from gateway.stores.database.engine import Database
from gateway.stores.database.tables import ABSENCES, APPROVALS, ASKS

_MOST: Final = 1000
_LOCK: Final = 7_240_113_905_563
"""A number of our own among PostgreSQL's advisory locks."""
_COLUMNS: Final = tuple(field.name for field in fields(Approval))
_ASK: Final = tuple(field.name for field in fields(Ask))
_A: Final = APPROVALS.c


class ApprovalTables:
    """See ``ApprovalStore``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, approval: Approval) -> None:
        """See ``ApprovalStore``."""
        values = {**asdict(approval), "options": orjson.dumps(approval.options).decode()}
        same = and_(_pending(approval.created_at), _A.hash == approval.hash, _A.ask.is_not(None))
        async with self._one_at_a_time() as connection:
            found = await connection.execute(select(_A.ask, _A.asked_at).where(same).limit(1))
            if (asked := found.first()) is not None:
                values |= {"ask": asked.ask, "asked_at": asked.asked_at}
            await connection.execute(insert(APPROVALS).values(values))

    async def get(self, name: str) -> Approval | None:
        """See ``ApprovalStore``."""
        found = await self._found(select(APPROVALS).where(_A.id == name))
        return found[0] if found else None

    async def find(self, sought: Sought, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        asked = select(APPROVALS).order_by(_A.created_at.desc(), _A.id).limit(sought.limit)
        if sought.person is not None:
            asked = asked.where(_A.person == sought.person)
        if sought.tenant is not None:
            asked = asked.where(_A.tenant == sought.tenant)
        if sought.state is not None:
            asked = asked.where(_is(sought.state, now))
        return [it.at(now) for it in await self._found(asked)]

    async def count_pending(self, tenant: str, now: int) -> int:
        """See ``ApprovalStore``. Beyond a thousand it does not matter how many there are."""
        mine = select(_A.id).where(_pending(now), _A.tenant == tenant).limit(_MOST)
        async with self._reading() as connection:
            return len((await connection.execute(mine)).all())

    async def decide(self, question: str, decision: Decision) -> list[Approval]:
        """See ``ApprovalStore``."""
        same = and_(_pending(decision.at), _A.hash == question)
        said = {"option": decision.option, "note": decision.note, "decided_at": decision.at}
        return await self._changed(same, state=decision.state, **said)

    async def withdraw(self, name: str, now: int) -> bool:
        """See ``ApprovalStore``."""
        own = and_(_pending(now), _A.id == name)
        return bool(await self._changed(own, state="withdrawn", decided_at=now))

    async def expire(self, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        late = and_(_A.state == "pending", _A.expires_at <= now)
        if not await self._found(select(APPROVALS).where(late).limit(1)):
            return []  # which is so nearly always, and nobody has to wait for it
        return await self._changed(late, state="expired", decided_at=_A.expires_at)

    async def waiting(self, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        asked = select(APPROVALS).where(_pending(now), _A.ask.is_(None))
        return await self._found(asked.order_by(_A.created_at, _A.id).limit(_MOST))

    async def begin(self, ask: Ask, questions: Sequence[str]) -> bool:
        """See ``ApprovalStore``."""
        them = and_(_pending(ask.asked_at), _A.ask.is_(None), _A.hash.in_(questions))
        asked = update(APPROVALS).where(them).values(ask=ask.id, asked_at=ask.asked_at)
        async with self._one_at_a_time() as connection:
            if not (await connection.execute(asked)).rowcount:
                return False
            await connection.execute(insert(ASKS).values(asdict(ask)))
        return True

    async def asked_since(self, person: str, since: int) -> list[int]:
        """See ``ApprovalStore``."""
        mine = and_(ASKS.c.person == person, ASKS.c.asked_at > since)
        asked = select(ASKS.c.asked_at).where(mine).order_by(ASKS.c.asked_at.desc()).limit(_MOST)
        async with self._reading() as connection:
            return [row.asked_at for row in await connection.execute(asked)]

    async def of_ask(self, ask: str, now: int) -> list[Approval]:
        """See ``ApprovalStore``."""
        asked = select(APPROVALS).where(_pending(now), _A.ask == ask)
        return await self._found(asked.order_by(_A.created_at, _A.id))

    async def due(self, now: int) -> list[Ask]:
        """See ``ApprovalStore``."""
        asked = select(ASKS).where(ASKS.c.due_at <= now).order_by(ASKS.c.due_at).limit(_MOST)
        async with self._reading() as connection:
            rows = await connection.execute(asked)
            return [Ask(**{name: getattr(row, name) for name in _ASK}) for row in rows]

    async def attempt(self, ask: Ask, due_at: int | None) -> bool:
        """See ``ApprovalStore``."""
        untold = and_(ASKS.c.attempts == ask.attempts, ASKS.c.delivered_at.is_(None))
        values = {"attempts": ask.attempts + 1, "due_at": due_at}
        return await self._change_ask(ask.id, untold, **values)

    async def put_off(self, ask: str, due_at: int) -> None:
        """See ``ApprovalStore``."""
        await self._change_ask(ask, ASKS.c.delivered_at.is_(None), due_at=due_at)

    async def delivered(self, ask: str, now: int) -> None:
        """See ``ApprovalStore``."""
        await self._change_ask(ask, None, due_at=None, delivered_at=now)

    async def set_absence(self, person: str, absence: Absence | None) -> None:
        """See ``ApprovalStore``."""
        async with self._writing() as connection:
            await connection.execute(delete(ABSENCES).where(ABSENCES.c.person == person))
            if absence is not None:
                await connection.execute(insert(ABSENCES).values(asdict(absence)))

    async def absence(self, person: str) -> Absence | None:
        """See ``ApprovalStore``."""
        asked = select(ABSENCES).where(ABSENCES.c.person == person)
        async with self._reading() as connection:
            row = (await connection.execute(asked)).first()
        return None if row is None else Absence(row.person, row.since, row.until)

    async def forget(self, before: int) -> None:
        """See ``ApprovalStore``."""
        ended = and_(_A.state != "pending", _A.decided_at < before)
        async with self._writing() as connection:
            await connection.execute(delete(APPROVALS).where(ended))
            await connection.execute(delete(ASKS).where(ASKS.c.asked_at < before))

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[AsyncConnection, None]:
        with anyio.CancelScope(shield=True):  # a connection cut off in the middle is lost
            async with self._database.reading() as connection:
                yield connection

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[AsyncConnection, None]:
        with anyio.CancelScope(shield=True):
            async with self._database.writing() as connection:
                yield connection

    @asynccontextmanager
    async def _one_at_a_time(self) -> AsyncGenerator[AsyncConnection, None]:
        """Write while nobody else adds or asks: a question would be asked twice between the two."""
        async with self._writing() as connection:
            if not self._database.is_sqlite:
                await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
            yield connection

    async def _found(self, asked: Select[Any]) -> list[Approval]:
        async with self._reading() as connection:
            return [_approval(row) for row in await connection.execute(asked)]

    async def _changed(self, which: ColumnElement[bool], **values: Any) -> list[Approval]:
        asked = update(APPROVALS).where(which).values(values).returning(APPROVALS)
        async with self._writing() as connection:
            return [_approval(row) for row in await connection.execute(asked)]

    async def _change_ask(self, name: str, only: ColumnElement[bool] | None, **values: Any) -> bool:
        which = ASKS.c.id == name if only is None else and_(ASKS.c.id == name, only)
        async with self._writing() as connection:
            changed = await connection.execute(update(ASKS).where(which).values(values))
            return bool(changed.rowcount)


def _pending(now: int) -> ColumnElement[bool]:
    return and_(_A.state == "pending", _A.expires_at > now)


def _is(state: State, now: int) -> ColumnElement[bool]:
    match state:
        case "pending":
            return _pending(now)
        case "expired":
            return or_(_A.state == state, and_(_A.state == "pending", _A.expires_at <= now))
        case _:
            return _A.state == state


def _approval(row: Row[Any]) -> Approval:
    values = {name: getattr(row, name) for name in _COLUMNS}
    values["options"] = tuple(orjson.loads(values["options"]))
    return Approval(**values)
