"""``GET /admin/ledger``: what requests did, by the database, or by memory where there is none."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from gateway.keeping import Durable
from gateway.metering.meters.rows import RecentRows
from gateway.metering.spool import Spool
from gateway.policy.asked import Faulty
from gateway.stores.database.engine import DatabaseLost
from gateway.stores.database.ledger import Sought
from gateway.stores.database.rows import instant, told, told_request
from gateway.surfaces.operations import json_answer, refused

_FLUSH_S: Final = 2.0
_AGAIN_S: Final = 0.4
"""By then another worker has written what it had when the question came."""

_LIMIT: Final = 100
_MOST: Final = 1_000
_NOT_KEPT: Final = (
    "This request is not kept: it has not ended, or its id is another, or another worker served it "
    "a moment ago (ask again), or no key came with it."
)
_WHICH: Final = (
    "Say which: ?request=ID, ?run=ID or ?key=NAME, with &since= and &limit= if you like."
)


class LedgerEndpoint:
    """Answers with the rows of a request, of a run, or of a key from the last on."""

    def __init__(self, spool: Spool, recent: RecentRows, durable: Durable | None) -> None:
        self._spool = spool
        self._recent = recent
        self._durable = durable

    async def serve(self, request: Request) -> Response:
        """Serve the rows that are asked for."""
        sought = _sought(request)
        self._spool.drain()
        if self._durable is None:
            return self._remembered(sought)
        with suppress(DatabaseLost), anyio.move_on_after(_FLUSH_S):
            await self._durable.writer.flush()
        try:
            return await self._found(self._durable, sought)
        except DatabaseLost:
            if sought.request is None or self._recent.request(sought.request) is None:
                raise
            return self._remembered(sought)

    async def _found(self, durable: Durable, sought: Sought) -> Response:
        rows = await durable.ledger.rows(sought)
        if sought.request is None:
            return json_answer({"rows": [told(row) for row in rows]})
        whole = await durable.ledger.request(sought.request)
        if whole is None and self._recent.request(sought.request) is None:
            await anyio.sleep(_AGAIN_S)
            rows = await durable.ledger.rows(sought)
            whole = await durable.ledger.request(sought.request)
        if whole is None:
            return self._remembered(sought)
        return json_answer({"rows": [told(row) for row in rows], "request": told_request(whole)})

    def _remembered(self, sought: Sought) -> Response:
        if sought.request is None:
            return refused("Without a database there are only requests: ?request=ID", 400)
        found = self._recent.request(sought.request)
        if found is None:
            return refused(_NOT_KEPT, 404)
        return json_answer({"rows": self._recent.rows(sought.request), "request": found})


def _sought(request: Request) -> Sought:
    asked = request.query_params
    which = {name: asked.get(name) or None for name in ("request", "run", "key")}
    since = asked.get("since")
    if not any(which.values()) and not since:
        raise Faulty("", _WHICH)
    return Sought(**which, since=_since(since) if since else None, limit=_limit(asked.get("limit")))


def _limit(text: str | None) -> int:
    if not text:
        return _LIMIT
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MOST:
        raise Faulty("limit", f"must be a number from 1 to {_MOST}")
    return int(text)


def _since(text: str) -> int:
    try:
        at = datetime.fromisoformat(text)
        return instant(at.replace(tzinfo=at.tzinfo or UTC).timestamp())
    except (ValueError, OverflowError) as error:
        raise Faulty("since", "must be an instant such as 2026-01-31T12:00:00Z") from error
