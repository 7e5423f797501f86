"""Keeps the rows of the last requests, for ``GET /admin/ledger``.

In memory and bounded: the durable ledger is a database's matter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime

from gateway.metering.ledger import CallFinished, Fact, RequestFinished
from pricing.cost import dollars
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
        request = self._requests.get(request_id)
        if request is None:
            return []
        return [_row(request, call) for call in request.rows]

    def request(self, request_id: str) -> JsonObject | None:
        """Return what is known of the request as a whole, None if it is not known."""
        found = self._requests.get(request_id)
        if found is None:
            return None
        return {
            "request_id": found.request_id,
            "outcome": found.outcome,
            "status": found.status,
            "dialect": found.dialect,
            "model": found.model,
            "technique": found.technique,
            "session": found.session,
            "tags": found.tags,
            "warnings": [_told(w.code, w.detail) for w in found.warnings],
            "ms": round(found.seconds * 1000, 3),
        }


def _row(request: RequestFinished, call: CallFinished) -> JsonObject:
    usage = call.usage
    return {
        "request_id": request.request_id,
        "run": request.run,
        "step": call.step,
        "role": call.role,
        "key": request.key,
        "model": call.model,
        "provider": call.provider,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens + usage.cache_write_1h_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "cost_usd": None if call.cost is None else dollars(call.cost),
        "cost_source": call.cost_source,
        "estimated": call.estimated,
        "reasoning_estimated": call.reasoning_estimated,
        "outcome": call.outcome,
        "started_at": datetime.fromtimestamp(call.started_at, UTC).isoformat(),
        "ms": round(call.seconds * 1000, 3),
    }


def _told(code: str, detail: str) -> str:
    return f"{code}: {detail}" if detail else code
