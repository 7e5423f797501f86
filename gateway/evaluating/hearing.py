"""Hears what Lockgate tells beside an answer, while something else reads the answer itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.sse import SseReader
from gateway.upstream.transport import Response, Transport
from techniques.core.json import Json, JsonObject

_COMMENT: Final = b": lockgate "
_NAME: Final = b'"lockgate"'
_MOST: Final = 16 * 2**20


@dataclass
class Heard:
    """What one answer's head, its ``usage.lockgate`` and its trailer tell."""

    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None
    told: JsonObject = field(default_factory=dict)

    def take(self, value: Json) -> None:
        """Take in what *value* tells, if it is an object."""
        if isinstance(value, dict):
            self.told.update(value)


@dataclass(frozen=True, slots=True)
class HearingTransport:
    """A transport whose answer, of one call, is heard by ``heard``."""

    inner: Transport
    heard: Heard

    @property
    def mask(self) -> Mask:
        """What takes the account's credentials out of a text."""
        return self.inner.mask

    async def post(self, call: HttpCall, until: float) -> Response:
        """Send *call*; see ``Transport.post``."""
        response = await self.inner.post(call, until)
        self.heard.headers, self.heard.status = response.headers, response.status
        return _HearingResponse(response, self.heard)


class _HearingResponse:
    """A response that is read by somebody else."""

    def __init__(self, inner: Response, heard: Heard) -> None:
        self._inner = inner
        self._heard = heard
        self._sse = SseReader()
        self._whole: list[bytes] | None = None
        self._size = 0
        if "event-stream" not in inner.headers.get("content-type", ""):
            self._whole = []

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        chunk = await self._inner.read()
        self._size += len(chunk)
        if self._size > _MOST:
            return chunk
        if self._whole is not None:
            self._whole.append(chunk)
            if not chunk:
                self._usage(b"".join(self._whole))
            return chunk
        for event in self._sse.feed(chunk):
            if event.data is not None:
                self._usage(event.data)
            for line in event.raw.splitlines() if _COMMENT in event.raw else ():
                if line.startswith(_COMMENT):
                    self._heard.take(_parsed(line[len(_COMMENT) :]))
        return chunk

    def wait_until(self, moment: float) -> None:
        self._inner.wait_until(moment)

    def close(self) -> None:
        self._inner.close()

    def _usage(self, data: bytes) -> None:
        if _NAME not in data:
            return
        body = _parsed(data)
        usage = body.get("usage") if isinstance(body, dict) else None
        if isinstance(usage, dict):
            self._heard.take(usage.get("lockgate"))


def _parsed(data: bytes) -> Json:
    try:
        value: Json = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    return value
