"""Keys, teams and budgets in the database. Every change has a number, by which it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Delete,
    Insert,
    Update,
    and_,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.stores.database.engine import Database
from gateway.stores.database.records import (
    BudgetRecord,
    Changed,
    KeyRecord,
    NotThere,
    Taken,
    TeamRecord,
    budget_of,
    columns_of,
    key_of,
    named,
    now,
)
from gateway.stores.database.tables import BUDGETS, CHANGES, KEYS, TEAMS


class OwnerTables:
    """Who may call, and what they may spend."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_key(self, record: KeyRecord, budgets: Sequence[BudgetRecord] = ()) -> KeyRecord:
        """Keep a new key and its *budgets*.

        Raises:
            Taken: There is, or was, one of this name.
        """
        made = replace(record, created_at=now())
        async with self._database.writing() as connection:
            values = {**columns_of(asdict(made)), "changed": await _number(connection)}
            await _added(connection, insert(KEYS).values(values), f"key {record.name!r}")
            await _budgeted(connection, budgets)
        return made

    async def change_key(self, name: str, fields: Mapping[str, Any]) -> KeyRecord:
        """Change *fields* of the key called *name*, and return it as it is then.

        Raises:
            NotThere: There is none, or it is revoked.
        """
        async with self._database.writing() as connection:
            values = {**columns_of(fields), "changed": await _number(connection)}
            there = and_(KEYS.c.name == name, KEYS.c.revoked_at.is_(None))
            await _changed(connection, update(KEYS).where(there).values(values), f"key {name!r}")
            found = (await connection.execute(select(KEYS).where(KEYS.c.name == name))).one()
        return key_of(found)

    async def revoke_key(self, name: str) -> KeyRecord:
        """Revoke the key for ever; its name stays taken, for its rows stay in the ledger.

        Raises:
            NotThere: There is none, or it is revoked already.
        """
        return await self.change_key(name, {"revoked_at": now()})

    async def keys(self) -> list[KeyRecord]:
        """Return all keys by name, the revoked ones too."""
        async with self._database.reading() as connection:
            return [key_of(row) for row in await connection.execute(_KEYS)]

    async def changes(self, since: int) -> Changed:
        """Return what has changed after change number *since*."""
        async with self._database.reading() as connection:
            number = await connection.scalar(select(CHANGES.c.number))
            if number == since:
                return Changed(since)
            return await _found(connection, since, number or 0)

    async def add_team(self, name: str, budgets: Sequence[BudgetRecord] = ()) -> TeamRecord:
        """Keep a new team and its *budgets*.

        Raises:
            Taken: There is one of this name.
        """
        made = TeamRecord(name, now())
        async with self._database.writing() as connection:
            values = {"name": made.name, "created_at": made.created_at}
            await _added(connection, insert(TEAMS).values(values), f"team {name!r}")
            await _budgeted(connection, budgets)
        return made

    async def remove_team(self, name: str) -> None:
        """Forget a team and its budgets.

        Raises:
            NotThere: There is none.
            Taken: Keys that are not revoked belong to it.
        """
        async with self._database.writing() as connection:
            mine = and_(KEYS.c.team == name, KEYS.c.revoked_at.is_(None))
            if (used := await connection.scalar(select(KEYS.c.name).where(mine))) is not None:
                raise Taken(
                    f"The key {used!r} belongs to team {name!r}: change or revoke it first."
                )
            await _changed(connection, delete(TEAMS).where(TEAMS.c.name == name), f"team {name!r}")
            theirs = and_(BUDGETS.c.kind == "team", BUDGETS.c.owner == name)
            await connection.execute(delete(BUDGETS).where(theirs))

    async def teams(self) -> list[TeamRecord]:
        """Return all teams by name."""
        async with self._database.reading() as connection:
            return [TeamRecord(*row) for row in await connection.execute(_TEAMS)]

    async def add_budget(self, record: BudgetRecord) -> None:
        """Keep a new budget.

        Raises:
            Taken: This owner has one for this period.
        """
        async with self._database.writing() as connection:
            await _budgeted(connection, [record])
            await _touch(connection, record)

    async def change_budget(self, record: BudgetRecord) -> None:
        """Change the budget of the same owner and period.

        Raises:
            NotThere: There is none.
        """
        values = {"cap": record.cap, "tz": record.tz}
        async with self._database.writing() as connection:
            asked = update(BUDGETS).where(_is(record)).values(values)
            await _changed(connection, asked, named(record))
            await _touch(connection, record)

    async def remove_budget(self, record: BudgetRecord) -> None:
        """Forget the budget of the same owner and period.

        Raises:
            NotThere: There is none.
        """
        async with self._database.writing() as connection:
            await _changed(connection, delete(BUDGETS).where(_is(record)), named(record))
            await _touch(connection, record)

    async def budgets(self) -> list[BudgetRecord]:
        """Return all budgets, by owner."""
        async with self._database.reading() as connection:
            return [budget_of(row) for row in await connection.execute(_BUDGETS)]


_KEYS: Final = select(KEYS).order_by(KEYS.c.name)
_TEAMS: Final = select(TEAMS.c.name, TEAMS.c.created_at).order_by(TEAMS.c.name)
_BUDGETS: Final = select(BUDGETS).order_by(BUDGETS.c.kind, BUDGETS.c.owner, BUDGETS.c.period)
_HOLDS: Final = or_(
    and_(BUDGETS.c.kind == "key", BUDGETS.c.owner == KEYS.c.name),
    and_(BUDGETS.c.kind == "team", BUDGETS.c.owner == KEYS.c.team),
)


async def _found(connection: AsyncConnection, since: int, number: int) -> Changed:
    mine = KEYS.c.changed > since
    keys = await connection.execute(select(KEYS).where(mine))
    budgets = await connection.execute(select(BUDGETS).distinct().join(KEYS, _HOLDS).where(mine))
    return Changed(number, [key_of(row) for row in keys], [budget_of(row) for row in budgets])


async def _number(connection: AsyncConnection) -> int:
    """Return the number of the change that is being made; who makes the next one waits for it."""
    await connection.execute(update(CHANGES).values(number=CHANGES.c.number + 1))
    number: int = (await connection.execute(select(CHANGES.c.number))).scalar_one()
    return number


async def _touch(connection: AsyncConnection, record: BudgetRecord) -> None:
    """Count the keys that a budget holds for as changed."""
    owner = KEYS.c.name if record.kind == "key" else KEYS.c.team
    number = await _number(connection)
    await connection.execute(update(KEYS).where(owner == record.owner).values(changed=number))


async def _added(connection: AsyncConnection, asked: Insert, what: str) -> None:
    try:
        await connection.execute(asked)
    except IntegrityError as error:
        raise Taken(f"There is a {what} already.") from error


async def _budgeted(connection: AsyncConnection, budgets: Sequence[BudgetRecord]) -> None:
    for record in budgets:
        await _added(connection, insert(BUDGETS).values(asdict(record)), named(record))


async def _changed(connection: AsyncConnection, asked: Update | Delete, what: str) -> None:
    if not (await connection.execute(asked)).rowcount:
        raise NotThere(f"There is no {what}.")


def _is(record: BudgetRecord) -> ColumnElement[bool]:
    return and_(
        BUDGETS.c.kind == record.kind,
        BUDGETS.c.owner == record.owner,
        BUDGETS.c.period == record.period,
    )
