"""Databases that an older release made, and rows that one wrote."""

from __future__ import annotations

import orjson
import pytest
from sqlalchemy import Connection, text

from gateway.stores.database.engine import Database, opened
from gateway.stores.database.ledger import LedgerTable
from gateway.stores.database.migrate import STEPS
from gateway.stores.database.rows import LedgerRow, RequestRow, packed, unpacked
from gateway.stores.database.sought import Sought
from gateway.stores.database.tables import METADATA
from tests.gateway.stores.database.scene import ledger_row, request_row

FIRST = LedgerRow._fields[: LedgerRow._fields.index("ms") + 1]
"""The columns of the first release."""


def _make_older(connection: Connection) -> None:
    """Turn an empty database into one as the step before the bills left it."""
    METADATA.drop_all(connection)
    connection.execute(text("DROP TABLE alembic_version"))
    STEPS.upgrade(connection, "v0004")


async def _put(database: Database, *rows: LedgerRow) -> None:
    """Write *rows* as the first release did."""
    names = ", ".join(f'"{name}"' for name in FIRST)
    marks = ", ".join(f":{name}" for name in FIRST)
    insert = text(f"INSERT INTO ledger ({names}) VALUES ({marks})")
    async with database.writing() as connection:
        for row in rows:
            values = row._asdict()
            await connection.execute(insert, {name: values[name] for name in FIRST})


async def _put_request(database: Database, row: RequestRow) -> None:
    """Write *row* as the first release did."""
    values = dict(list(row._asdict().items())[: RequestRow._fields.index("ms") + 1])
    names, marks = ", ".join(f'"{name}"' for name in values), ", ".join(f":{n}" for n in values)
    async with database.writing() as connection:
        await connection.execute(text(f"INSERT INTO requests ({names}) VALUES ({marks})"), values)


async def test_rows_of_an_older_database_get_what_is_known_of_their_requests(
    database_url: str,
) -> None:
    of_request, lone = ledger_row("r1.0"), ledger_row("gone.0", run="other")
    async with opened(database_url) as database:
        async with database.writing() as connection:
            await connection.run_sync(_make_older)
        await _put(database, of_request, lone)
        told = request_row("r1", session="s-1", tags="nightly,eval", technique="cisc")
        await _put_request(database, told)

    async with opened(database_url) as database:
        rows = await LedgerTable(database).rows(Sought(since=0))

    known = of_request._replace(technique="cisc", session="s-1", tags="nightly eval")
    assert {row.id: row for row in rows} == {"r1.0": known, "gone.0": lone}


async def test_what_a_router_chose_is_read_as_it_was_written(database_url: str) -> None:
    routed = request_row("r1")._replace(
        arm="none/-/strong", router="semknn", propensity=0.5, explored=True, lambda_=2.0
    )
    async with opened(database_url) as database:
        await _put_request(database, request_row("old"))
        await LedgerTable(database).write([], [routed, request_row("plain")])

        assert await LedgerTable(database).request("r1") == routed
        for name in ("old", "plain"):
            assert await LedgerTable(database).request(name) == request_row(name)


async def test_an_older_replica_goes_on_writing_into_a_newer_database(database_url: str) -> None:
    row = ledger_row()
    async with opened(database_url) as database:
        await _put(database, row)

        assert await LedgerTable(database).rows(Sought(request="r1")) == [row]


def test_a_line_of_an_older_release_is_read_and_one_of_a_newer_too() -> None:
    row = ledger_row(technique="cisc", caveats="peak_rate", images=3)
    line = orjson.loads(packed(row))

    older = unpacked(orjson.dumps(line[: len(FIRST)]).decode())
    newer = unpacked(orjson.dumps([*line, "more"]).decode())

    assert older == row._replace(technique="", caveats=None, images=0)
    assert newer == row
    with pytest.raises(ValueError, match="no row"):
        unpacked(orjson.dumps(line[: len(FIRST) - 1]).decode())
