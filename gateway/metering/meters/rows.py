"""Keeps the rows of the last requests, for ``GET /admin/ledger``.

In memory and bounded: what stands in for the durable ledger where there is no database, or while
it is lost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from gateway.metering.ledger import Fact, RequestFinished
from gateway.metering.meters.durable import request_row, rows_of
from gateway.stores.database.rows import told, told_request
from techniques.core.json import JsonObject


class RecentRows:
    """The rows of the last *most* requests, by request id."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._requests: OrderedDict[str, RequestFinished] = OrderedDict()

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Keep those of *facts* that end a request."""
        for fact in facts:
            if isinstance(fact, RequestFinished):
                self._requests[fact.request_id] = fact
        while len(self._requests) > self._most:
            self._requests.popitem(last=False)

    def rows(self, request_id: str) -> list[JsonObject]:
        """Return the rows of the request, one a sub-call; none if it is not known any more."""
        found = self._requests.get(request_id)
        return [] if found is None else [told(row) for row in rows_of(found)]

    def request(self, request_id: str) -> JsonObject | None:
        """Return what is known of the request as a whole, None if it is not known."""
        found = self._requests.get(request_id)
        return None if found is None else told_request(request_row(found, 0))
