"""What a provider says that it has: one question, which costs nothing anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Final

import orjson

from gateway.clock import utc_now
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Transport
from techniques.core.json import Json, JsonObject

_MOST: Final = 4 * 2**20
_PATHS: Final[Mapping[str, str]] = {
    "openai_chat": "/models",
    "openai_responses": "/models",
    "anthropic": "/v1/models?limit=1000",
}
_HEADERS: Final[Mapping[str, Mapping[str, str]]] = {
    "openai_chat": {},
    "openai_responses": {},
    "anthropic": {"anthropic-version": "2023-06-01"},
}


@dataclass(frozen=True, slots=True)
class Offered:
    """What a provider answered, when it began to, and how long that took."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    ms: float
    at: float

    @property
    def names(self) -> tuple[str, ...] | None:
        """The models that it lists, in its order; None if it is no list of them."""
        rows = self._told.get("data")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return None
        return tuple(dict.fromkeys(str(row["id"]) for row in rows if "id" in row))

    @property
    def has_more(self) -> bool:
        """Whether that is a part of them."""
        return bool(self._told.get("has_more"))

    @property
    def _told(self) -> JsonObject:
        try:
            found: Json = orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return {}
        return found if isinstance(found, dict) else {}


async def offered(transport: Transport, dialect: str, within_s: float) -> Offered:
    """Return what the provider of *dialect* at the other end of *transport* says that it has.

    Raises:
        UpstreamFailed: It is not reached, or does not answer in time.
    """
    began, until = monotonic(), monotonic() + within_s
    call = HttpCall(_PATHS[dialect], b"", _HEADERS[dialect], method="GET")
    response = await transport.post(call, until)
    at, body = utc_now().timestamp(), bytearray()
    try:
        ms = 1000 * (monotonic() - began)
        while len(body) < _MOST and (piece := await response.read()):
            body += piece
        return Offered(response.status, dict(response.headers), bytes(body), ms, at)
    finally:
        response.close()
