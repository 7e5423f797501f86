"""Responses in the database, each a row, and which response an item stands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.stores.database.engine import Database
from gateway.stores.database.tables import RESPONSE_ITEMS, RESPONSES
from gateway.stores.responses.records import PENDING, ResponseName, State, is_id

_T = TypeVar("_T")

LONGEST: Final = 10_000
"""How many responses one conversation can have."""

_OF: Final = RESPONSES.c
_ITEM: Final = RESPONSE_ITEMS.c
_BATCH: Final = 200
_ASKED: Final = 5_000
"""Items that are looked for at once: no database takes more than some ten thousand values."""
_CHANGED: Final = ("parent", "state", "background", "used_ms", "size", "record")
_PENDING: Final = or_(*(_OF.state == state for state in PENDING))


class Row(NamedTuple):
    """A response as the table has it."""

    owner: str
    id: str
    parent: str | None
    state: State
    background: int
    created_ms: int
    used_ms: int
    size: int
    record: str

    @property
    def name(self) -> ResponseName:
        """Whose it is, and its id."""
        return ResponseName(self.owner, self.id)


class Written(NamedTuple):
    """A response that is to be written, and the items in it that clients may refer to.

    One that has ``begun`` is there already; where it is not any more it is not written.
    """

    row: Row
    items: Sequence[str] = ()
    begun: bool = False


class ResponseTable:
    """Responses; every operation may raise ``DatabaseLost``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, several: Sequence[Written]) -> None:
        """Write *several*, all or none; what has ended stays as it ended."""
        async with self._database.writing() as connection:
            there = [one for one in several if one.begun and await _ended(connection, one.row)]
            new = [one for one in several if not one.begun]
            if new:
                await connection.execute(self._put(), [one.row._asdict() for one in new])
            if items := [item for one in (*new, *there) for item in _items(one)]:
                await connection.execute(self._put_items(), items)

    async def find(self, name: ResponseName) -> Row | None:
        """Return a response, None if there is none."""
        if not is_id(name.id):
            return None
        async with self._database.reading() as connection:
            found = (await connection.execute(select(RESPONSES).where(_is(name)))).first()
        return None if found is None else Row(*found)

    async def chain(self, name: ResponseName, most: int) -> list[Row]:
        """Return a response and those before it, the first of all first.

        No more are read when they have *most* bytes; the first then has a parent, as also where a
        parent is not there any more.
        """
        if not is_id(name.id):
            return []
        async with self._database.reading() as connection:
            found = (await connection.execute(_chain(name, most))).all()
        return [Row(*row[:-1]) for row in reversed(found)]

    async def holders(self, owner: str, items: Sequence[str]) -> dict[str, str]:
        """Return in which response each of *items* stands, of those that there are."""
        held = select(_ITEM.item, _ITEM.response).where(_ITEM.owner == owner)
        found: dict[str, str] = {}
        async with self._database.reading() as connection:
            for part in _parts([one for one in items if is_id(one)], _ASKED):
                among = held.where(_ITEM.item.in_(part))
                found |= {row.item: row.response for row in await connection.execute(among)}
        return found

    async def touch(self, names: Sequence[ResponseName], at_ms: int) -> None:
        """Note that these were used."""
        async with self._database.writing() as connection:
            for part in _parts(names):
                await connection.execute(
                    update(RESPONSES).where(_among(part)).values(used_ms=at_ms)
                )

    async def cancel(self, name: ResponseName) -> None:
        """Have who is at work on a response stop."""
        mark = update(RESPONSES).where(_is(name), _PENDING)
        async with self._database.writing() as connection:
            await connection.execute(mark.values(state="cancelling"))

    async def cancelled(self, most: int) -> list[ResponseName]:
        """Return those that somebody is to stop."""
        query = (
            select(_OF.owner, _OF.id).where(_OF.state == literal_column("'cancelling'")).limit(most)
        )
        async with self._database.reading() as connection:
            return [ResponseName(*row) for row in await connection.execute(query)]

    async def delete(self, name: ResponseName) -> bool:
        """Delete a response; return whether there was one."""
        return await self.erase_these([name]) > 0

    async def erase(self, owner: str, most: int = _BATCH) -> int:
        """Delete up to *most* responses of a key; return how many there were."""
        return await self._clear(select(_OF.owner, _OF.id).where(_OF.owner == owner).limit(most))

    async def unheard(self, owner: str, most: int = _BATCH) -> list[ResponseName]:
        """Return up to *most* responses of a key that were carried out in the background."""
        mine = and_(_OF.owner == owner, _OF.background == 1)
        async with self._database.reading() as connection:
            found = await connection.execute(select(_OF.owner, _OF.id).where(mine).limit(most))
            return [ResponseName(*row) for row in found]

    async def erase_these(self, names: Sequence[ResponseName]) -> int:
        """Delete responses; return how many there were."""
        async with self._database.writing() as connection:
            return await _deleted(connection, names)

    async def purge(self, before_ms: int, most: int = _BATCH) -> int:
        """Delete up to *most* responses that were not used since *before_ms*; return how many."""
        return await self._clear(
            select(_OF.owner, _OF.id).where(_OF.used_ms < before_ms).limit(most)
        )

    async def crowded(self, most: int) -> dict[str, int]:
        """Return who has more than *most* responses, and how many more."""
        number = func.count()
        query = select(_OF.owner, number).group_by(_OF.owner).having(number > most)
        async with self._database.reading() as connection:
            return {owner: found - most for owner, found in await connection.execute(query)}

    async def thin(self, owner: str, most: int) -> int:
        """Delete the *most* oldest responses of a key; return how many there were."""
        oldest = select(_OF.owner, _OF.id).where(_OF.owner == owner).order_by(_OF.created_ms)
        return await self._clear(oldest.limit(min(most, _BATCH)))

    async def _clear(self, which: Select[Any]) -> int:
        async with self._database.writing() as connection:
            names = [ResponseName(*row) for row in await connection.execute(which)]
            return await _deleted(connection, names)

    def _put(self) -> Any:
        made = (sqlite if self._database.is_sqlite else postgresql).insert(RESPONSES)
        return made.on_conflict_do_update(
            index_elements=["owner", "id"],
            set_={name: made.excluded[name] for name in _CHANGED},
            where=_PENDING,
        )

    def _put_items(self) -> Any:
        made = (sqlite if self._database.is_sqlite else postgresql).insert(RESPONSE_ITEMS)
        return made.on_conflict_do_update(
            index_elements=["owner", "item"], set_={"response": made.excluded["response"]}
        )


def _is(name: ResponseName) -> ColumnElement[bool]:
    return and_(_OF.owner == name.owner, _OF.id == name.id)


def _among(names: Sequence[ResponseName]) -> ColumnElement[bool]:
    return tuple_(_OF.owner, _OF.id).in_([(*name,) for name in names])


def _chain(name: ResponseName, most: int) -> Select[Any]:
    """Return the query of a response and those before it, the last first."""
    first = select(
        _OF.owner, _OF.id, _OF.parent, _OF.size.label("total"), literal(1).label("depth")
    ).where(_is(name))
    way = first.cte("way", recursive=True)
    before = select(_OF.owner, _OF.id, _OF.parent, way.c.total + _OF.size, way.c.depth + 1).where(
        _OF.owner == way.c.owner,
        _OF.id == way.c.parent,
        way.c.total <= most,
        way.c.depth < LONGEST,
    )
    way = way.union_all(before)
    joined = and_(_OF.owner == way.c.owner, _OF.id == way.c.id)
    return select(RESPONSES, way.c.depth).join(way, joined).order_by(way.c.depth)


async def _ended(connection: AsyncConnection, row: Row) -> bool:
    """Write how a response has ended that is there and has not; return whether it is so."""
    values = {name: getattr(row, name) for name in _CHANGED}
    which = and_(_is(row.name), _PENDING)
    return (await connection.execute(update(RESPONSES).where(which).values(values))).rowcount > 0


def _items(written: Written) -> list[dict[str, str]]:
    owner, response = written.row.name
    return [{"owner": owner, "item": item, "response": response} for item in written.items]


async def _deleted(connection: AsyncConnection, names: Sequence[ResponseName]) -> int:
    gone = 0
    for part in _parts(names):
        gone += (await connection.execute(delete(RESPONSES).where(_among(part)))).rowcount
        of = tuple_(_ITEM.owner, _ITEM.response).in_([(*name,) for name in part])
        await connection.execute(delete(RESPONSE_ITEMS).where(of))
    return gone


def _parts(several: Sequence[_T], most: int = _BATCH) -> list[Sequence[_T]]:
    return [several[at : at + most] for at in range(0, len(several), most)]
