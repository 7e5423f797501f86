"""Writes a stream so that what is kept of it is read along."""

from __future__ import annotations

from gateway.responses.keeping import Keeping
from gateway.wire.dialect import Encoder, Summary
from techniques.core.errors import GatewayError
from techniques.core.events import Event
from techniques.core.json import JsonObject


class KeptEncoder:
    """Writes with *inner*, past *keeping*; the end of it is passed by who keeps it."""

    def __init__(self, inner: Encoder, keeping: Keeping) -> None:
        self._inner = inner
        self._keeping = keeping

    def feed(self, event: Event) -> bytes:
        """Return the bytes that tell a client of *event*."""
        return self._keeping.piece(self._inner.feed(event))

    def ping(self) -> bytes:
        """Return bytes that only keep the connection alive."""
        return self._inner.ping()

    def held(self, said: JsonObject) -> bytes:
        """Return what tells a client that a rate limit holds its call."""
        return self._inner.held(said)

    def end(self, summary: Summary) -> bytes:
        """Return the closing bytes."""
        return self._inner.end(summary)

    def fail(self, error: GatewayError) -> bytes:
        """Return the bytes that tell a client of an *error* after the stream has begun."""
        return self._inner.fail(error)
