"""A provider that fails as it is told to, and writes down what it did and what that used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import anyio
import orjson

from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.simulated.transport import SimulatedResponse, SimulatedTransport
from pricing.usage import Usage
from techniques.core.errors import UpstreamFailed

Fault: TypeAlias = Literal["refused", "error", "limited", "wrong", "cut", "garbage", "silent"]
FAULTS: tuple[Fault, ...] = ("refused", "error", "limited", "wrong", "cut", "garbage", "silent")

_STATUS: Mapping[Fault | None, int] = {"error": 500, "limited": 429, "wrong": 400}
_WRONG = orjson.dumps({"error": {"message": "Something is wrong.", "type": "error"}})
_JSON = {"content-type": "application/json"}


@dataclass(slots=True)
class Served:
    """One call: the model, and the tokens it used if its answer was given whole."""

    model: str
    usage: Usage | None = None


@dataclass(slots=True)
class Faulty:
    """The simulation with faults: call number *n* has that of ``faults[n]``, if there is one.

    Each call takes a second, a silent one *silent_s* more. ``open`` counts answers that were not
    closed.
    """

    faults: Mapping[int, Fault]
    silent_s: float = 10_000.0
    served: list[Served] = field(default_factory=list)
    open: int = 0
    mask: Mask = field(default_factory=lambda: Mask({}))
    _inner: SimulatedTransport = field(default_factory=SimulatedTransport)

    async def post(self, call: HttpCall, until: float) -> _Answer:
        """Answer *call*, or fail."""
        fault = self.faults.get(len(self.served))
        served = Served(orjson.loads(call.body)["model"])
        self.served.append(served)
        await anyio.sleep(1)
        if fault == "refused":
            raise UpstreamFailed("Nobody listens.", "transport", retryable=True)
        if fault == "silent":
            await anyio.sleep(self.silent_s)
            raise UpstreamFailed("Nothing came.", "timeout", retryable=True)
        if fault in _STATUS:
            return _Answer(self, None, SimulatedResponse(_STATUS[fault], _JSON, [(_WRONG, 0)]))
        if fault == "garbage":
            return _Answer(self, None, SimulatedResponse(200, _JSON, [(b"<html>", 0)]))
        inner = await self._inner.post(call, until)
        return _Answer(self, served, inner, cut=fault == "cut")


class _Answer:
    """An answer on its way; with *cut* it breaks off before its end."""

    def __init__(
        self, of: Faulty, served: Served | None, inner: SimulatedResponse, *, cut: bool = False
    ) -> None:
        self.status = inner.status
        self.headers = inner.headers
        self._of = of
        self._served = served
        self._inner = inner
        self._cut = cut
        self._read = b""
        self._closed = False
        of.open += 1

    async def read(self) -> bytes:
        """Return the next bytes."""
        frame = await self._inner.read()
        if self._cut and (not frame or len(frame) > 1):
            raise UpstreamFailed("The connection broke.", "transport", retryable=True)
        self._read += frame
        if not frame and self._served is not None and self.status == 200:
            self._served.usage = _used(self._read)
        return frame

    def wait_until(self, moment: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """End the call."""
        self._of.open -= not self._closed
        self._closed = True


def _used(body: bytes) -> Usage | None:
    """Return what *body*, whole or a stream, says it used."""
    lines = body.split(b"\n") if body.startswith(b"data:") else [b"data: " + body]
    told = None
    for line in lines:
        if line.startswith(b"data: {"):
            told = orjson.loads(line.removeprefix(b"data: ")).get("usage") or told
    return told and Usage(told["prompt_tokens"], told["completion_tokens"])
