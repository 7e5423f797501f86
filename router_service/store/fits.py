"""Keeps what fits have found, for all processes that share the database."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson
import structlog
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import RowMapping, insert, select, update

from router_service.groundwork.database import Database
from router_service.parameters import Parameters, Tuned, Weights
from router_service.store import statements
from router_service.store.rows import instant
from router_service.store.tables import FITS
from techniques.core.json import JsonObject

_MICRO: Final = 1_000_000
_SHOWN: Final = 50
_READS: Final[TypeAdapter[Weights | Tuned]] = TypeAdapter(Parameters)

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Kept:
    """What a fit has found and who had it served; ``at`` is in seconds since 1970."""

    revision: int
    at: float
    by: str
    found: Weights | Tuned
    report: JsonObject


class FitTable:
    """The fits of *router* in *database*. What is not as it was written is passed over."""

    def __init__(self, database: Database, router: str) -> None:
        self._database = database
        self._router = router
        self._stands = (FITS.c.router == router, FITS.c.withdrawn_at.is_(None))
        self._told: set[int] = set()

    async def keep(self, found: Weights | Tuned, report: JsonObject, by: str, at: float) -> int:
        """Have what was *found* served from now on, and return its revision.

        Raises:
            DatabaseLost: It is not.
        """
        text = found.model_dump_json()
        async with self._database.writing() as connection:
            revision: int = (await connection.execute(statements.claimed(1))).scalar_one()
            row = {
                "revision": revision,
                "at": instant(at),
                "router": self._router,
                "by": by,
                "report": orjson.dumps(report).decode(),
                "found": text,
                "checksum": _checksum(text),
                "withdrawn_at": None,
                "withdrawn_by": "",
            }
            await connection.execute(insert(FITS).values(row))
        return revision

    async def withdraw(self, revision: int, by: str, at: float) -> None:
        """Take that one back, and what came after it and could not be read.

        Raises:
            DatabaseLost: Nobody knows.
        """
        taken = {"withdrawn_at": instant(at), "withdrawn_by": by}
        which = (*self._stands, FITS.c.revision >= revision)
        async with self._database.writing() as connection:
            await connection.execute(statements.claimed(0))
            await connection.execute(update(FITS).where(*which).values(taken))

    async def history(self) -> list[JsonObject]:
        """Return what was served of the last fits, and who did that, the last one first.

        Raises:
            DatabaseLost: It does not answer.
        """
        names = ("revision", "at", "by", "withdrawn_at", "withdrawn_by")
        asked = select(*(FITS.c[name] for name in names)).where(FITS.c.router == self._router)
        async with self._database.reading() as connection:
            found = await connection.execute(asked.order_by(FITS.c.revision.desc()).limit(_SHOWN))
            return [_seconds(dict(zip(names, row, strict=True))) for row in found]

    async def standing(self) -> tuple[int, ...]:
        """Return the revisions that are not withdrawn, the last one first.

        Raises:
            DatabaseLost: It does not answer.
        """
        async with self._database.reading() as connection:
            asked = select(FITS.c.revision).where(*self._stands)
            found = await connection.execute(asked.order_by(FITS.c.revision.desc()))
            return tuple(row.revision for row in found)

    async def served(self) -> Kept | None:
        """Return the last one that is whole, None if there is none.

        Raises:
            DatabaseLost: It does not answer.
        """
        for revision in await self.standing():
            async with self._database.reading() as connection:
                asked = select(FITS).where(FITS.c.revision == revision)
                row = (await connection.execute(asked)).mappings().one_or_none()
            if row is not None and (kept := self._kept(row)) is not None:
                return kept
        return None

    def _kept(self, row: RowMapping) -> Kept | None:
        try:
            found, report = _read(row, self._router)
        except ValueError as error:
            if row["revision"] not in self._told:
                self._told.add(row["revision"])
                _log.error("fit.damaged", revision=row["revision"], reason=str(error))
            return None
        return Kept(row["revision"], row["at"] / _MICRO, row["by"], found, report)


def _read(row: RowMapping, router: str) -> tuple[Weights | Tuned, JsonObject]:
    if _checksum(row["found"]) != row["checksum"]:
        raise ValueError("it is not what was written: its checksum is another")
    try:
        found = _READS.validate_json(row["found"])
    except ValidationError as error:
        raise ValueError(f"it cannot be read: {error.error_count()} faults") from None
    if found.router != router:
        raise ValueError(f"it is for {found.router}")
    report = orjson.loads(row["report"])
    return found, report if isinstance(report, dict) else {}


def _seconds(row: dict[str, Any]) -> JsonObject:
    """Return *row* with its instants in seconds."""
    times = {name: it / _MICRO for name, it in row.items() if name.endswith("at") and it}
    return {**row, **times}


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()
