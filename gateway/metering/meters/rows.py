"""Keeps the rows of the last requests, for ``GET /admin/ledger`` and for who looks on.

In memory and bounded: what stands in for the durable ledger where there is no database, or while
it is lost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from gateway.clock import utc_now
from gateway.metering.ledger import Fact, RequestFinished
from gateway.metering.meters.durable import request_row, rows_of
from gateway.stores.database.rows import RequestRow, instant, told, told_request
from techniques.core.json import JsonObject


class Ended(NamedTuple):
    """A request, and the instant at which it ended, as the database would hold it."""

    finished: RequestFinished
    at: int

    @property
    def row(self) -> RequestRow:
        """Its row."""
        return request_row(self.finished, self.at)


class RecentRows:
    """The rows of the last *most* requests, by request id."""

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._requests: OrderedDict[str, Ended] = OrderedDict()

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Keep those of *facts* that end a request."""
        now = instant(utc_now().timestamp())
        for fact in facts:
            if isinstance(fact, RequestFinished):
                self._requests[fact.request_id] = Ended(fact, now)
        while len(self._requests) > self._most:
            self._requests.popitem(last=False)

    def ended(self) -> Sequence[Ended]:
        """Return the last requests, the last of them last."""
        return tuple(self._requests.values())

    def code(self, request_id: str) -> str | None:
        """Return our name of what went wrong with a request; None: nothing, or nobody knows."""
        found = self._requests.get(request_id)
        return None if found is None else found.finished.code

    def rows(self, request_id: str) -> list[JsonObject]:
        """Return the rows of the request, one a sub-call; none if it is not known any more."""
        found = self._requests.get(request_id)
        return [] if found is None else [told(row) for row in rows_of(found.finished)]

    def request(self, request_id: str) -> JsonObject | None:
        """Return what is known of the request as a whole, None if it is not known."""
        found = self._requests.get(request_id)
        return None if found is None else told_request(found.row)
