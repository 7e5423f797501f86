"""``GET /admin/ledger``: what requests did, by the database, or by memory where there is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from gateway.keeping import Durable
from gateway.policy.asked import Faulty
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.rows import TOLD, LedgerRow, instant, told, told_request
from gateway.stores.database.sought import MOST, Sought, place_of
from gateway.surfaces.books import Books
from gateway.surfaces.operations import json_answer, refused
from gateway.surfaces.seeking import (
    choice_of,
    cursor_of,
    fields_of,
    limit_of,
    place_at,
    sought_of,
)
from gateway.surfaces.sheets import CSV, NDJSON, attached, csv_answer, csv_text, json_lines
from techniques.core.json import JsonObject

_AGAIN_S: Final = 0.4
"""By then another worker has written what it had when the question came."""

_LIMIT: Final = 100
_FORMS: Final = ("json", "csv", "ndjson")
_NOT_KEPT: Final = (
    "This request is not kept: it has not ended, or its id is another, or another worker served it "
    "a moment ago (ask again), or no key came with it."
)
_REQUESTS_ONLY: Final = "Without a database there are only requests: ?request=ID"


class LedgerEndpoint:
    """Answers with the rows that are asked for, a page at a time or all of them at once."""

    def __init__(self, books: Books) -> None:
        self._books = books

    async def serve(self, request: Request) -> Response:
        """Serve the rows that are asked for."""
        fields = fields_of(request.query_params.multi_items(), ("limit", "cursor", "format"))
        form = choice_of("format", fields.get("format"), _FORMS)
        sought = _paged(sought_of(fields), fields)
        if self._books.durable is None:
            return self._remembered(fields)
        durable = await self._books.current()
        if form != "json":
            return await _export(durable, _whole(sought, fields), form)
        try:
            return await self._page(durable, sought, fields)
        except DatabaseLost:
            if sought.request is None or self._books.recent.request(sought.request) is None:
                raise
            return self._remembered(fields)

    async def _page(self, durable: Durable, sought: Sought, fields: Mapping[str, str]) -> Response:
        page = _told(await durable.ledger.rows(sought), sought.limit - 1)
        if sought.request is None:
            return json_answer(page)
        whole = await durable.ledger.request(sought.request)
        if whole is None and self._books.recent.request(sought.request) is None:
            await anyio.sleep(_AGAIN_S)
            page = _told(await durable.ledger.rows(sought), sought.limit - 1)
            whole = await durable.ledger.request(sought.request)
        if whole is None:
            return self._remembered(fields)
        return json_answer({**page, "request": told_request(whole)})

    def _remembered(self, fields: Mapping[str, str]) -> Response:
        self._books.spool.drain()
        name = fields.get("request")
        if name is None or fields.keys() - {"request", "format", "limit"}:
            return refused(_REQUESTS_ONLY, 400)
        found = self._books.recent.request(name)
        if found is None:
            return refused(_NOT_KEPT, 404)
        rows = self._books.recent.rows(name)
        if fields.get("format") in _FORMS[1:]:
            return _sheet(rows, fields["format"])
        return json_answer({"rows": rows, "request": found})


def _paged(sought: Sought, fields: Mapping[str, str]) -> Sought:
    """Return *sought* with the place and the size of its page; one more tells that there is one."""
    usual = _LIMIT if sought.request is None and sought.run is None else MOST
    limit = limit_of(fields.get("limit"), usual)
    return replace(sought, after=place_at(fields.get("cursor")), limit=limit + 1)


def _told(rows: list[LedgerRow], limit: int) -> JsonObject:
    page: JsonObject = {"rows": [told(row) for row in rows[:limit]]}
    return {**page, "next": cursor_of(place_of(rows[limit - 1]))} if len(rows) > limit else page


def _whole(sought: Sought, fields: Mapping[str, str]) -> Sought:
    for name in ("limit", "cursor"):
        if name in fields:
            raise Faulty(name, "an export has all rows: narrow it by since and until")
    now = instant(datetime.now(UTC).timestamp())
    return replace(sought, ascending=True, until=now if sought.until is None else sought.until)


async def _export(durable: Durable, sought: Sought, form: str) -> Response:
    """Return all rows, read as they are sent; a failure before the first has its own status.

    What fails later cuts the answer off, so that it is not taken for whole.
    """
    pages = durable.ledger.pages(sought)
    none: list[LedgerRow] = []
    first = await anext(pages, none)
    chunks = _chunks(first, pages, form)
    return StreamingResponse(chunks, media_type=_TYPES[form], headers=attached("ledger", form))


async def _chunks(
    first: list[LedgerRow], pages: AsyncGenerator[list[LedgerRow], None], form: str
) -> AsyncGenerator[bytes, None]:
    yield _written(first, form, head=True)
    async for rows in pages:
        yield _written(rows, form)


def _written(rows: list[LedgerRow], form: str, *, head: bool = False) -> bytes:
    shown = map(told, rows)
    return csv_text(TOLD, shown, head=head).encode() if form == "csv" else json_lines(shown)


def _sheet(rows: list[JsonObject], form: str) -> Response:
    if form == "csv":
        return csv_answer(csv_text(TOLD, rows), "ledger")
    return Response(json_lines(rows), media_type=NDJSON, headers=attached("ledger", form))


_TYPES: Final = {"csv": CSV, "ndjson": NDJSON}
