"""What a client is told whose request is carried out without it."""

from __future__ import annotations

import orjson

from gateway.runs.wanted import Begun
from gateway.surfaces.kept import run_path
from gateway.surfaces.telling import head_of
from gateway.surfaces.visit import Visit
from gateway.wire.respond import Headers
from techniques.core.json import JsonObject


class GoesOn(Exception):
    """A request is carried out, as that run, and nobody waits for it.

    *told* is what its client is told of that in its dialect, None where that has no words for it.
    """

    def __init__(self, begun: Begun, told: JsonObject | None = None) -> None:
        super().__init__(begun.run)
        self.begun = begun
        self.told = told


def accepted(visit: Visit, goes_on: GoesOn) -> tuple[bytes, Headers]:
    """Return what tells where the answer will be, or that it is there; *visit* has its status."""
    begun, told = goes_on.begun, goes_on.told
    visit.run, visit.status = begun.run, 202 if told is None else 200
    headers: Headers = [(b"content-type", b"application/json")]
    if told is None:
        at, state = run_path(begun.run), "completed" if begun.over else "executing"
        told = {"object": "run", "id": begun.run, "state": state, "url": at}
        headers += (
            (b"location", at.encode()),
            (b"retry-after", b"1"),
            (b"preference-applied", b"respond-async"),
        )
    body = orjson.dumps(told)
    headers += ((b"content-length", str(len(body)).encode()), *head_of(visit))
    return body, headers
