"""Carries calls to slots: each goes to its session's, and what it tells of its tokens is noted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

import orjson

from gateway.upstream.http import HttpChannel
from gateway.upstream.llama_cpp.kept import Session
from gateway.upstream.llama_cpp.seats import Seat
from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask
from gateway.upstream.transport import Response, Transport
from techniques.core.channel import EventStream
from techniques.core.request import Request

_TAIL: Final = 4096
_TIMINGS: Final = re.compile(rb'"timings":\s*(\{[^{}]*\})')
_COUNTS: Final = ("cache_n", "prompt_n", "predicted_n", "prompt_ms")
_OWN_ROLE: Final = "answer"


@dataclass(frozen=True, slots=True)
class Computed:
    """What a call computed: tokens that were there, read and written, and seconds of reading."""

    cached: int
    read: int
    written: int
    read_s: float

    @property
    def tokens(self) -> int:
        """What its slot holds now: the last token that was written is not in it yet."""
        return self.cached + self.read + max(self.written - 1, 0)


class Usher(Protocol):
    """Gives slots to calls."""

    async def sit(self, session: Session | None) -> Seat | None:
        """Return a slot for a call, None: the server is to choose."""
        ...

    def stand(self, seat: Seat, computed: Computed | None) -> None:
        """Take the slot of a call back that has ended; None: it did not tell what it computed."""
        ...


@dataclass(frozen=True, slots=True)
class SeatedChannel:
    """The channel *inner*, each of whose calls is given a slot by *usher*.

    A session's slot is for what continues its conversation; judges and drafts have others.
    """

    inner: HttpChannel
    usher: Usher
    session: Session | None = None

    def open(self, request: Request) -> EventStream:
        """Send *request*."""
        session = self.session if request.role == _OWN_ROLE else None
        transport = SeatedTransport(self.inner.transport, self.usher, session)
        return replace(self.inner, transport=transport).open(request)


class SeatedTransport:
    """Posts one call."""

    def __init__(self, inner: Transport, usher: Usher, session: Session | None) -> None:
        self._inner = inner
        self._usher = usher
        self._session = session

    @property
    def mask(self) -> Mask:
        """What takes the account's credentials out of a text."""
        return self._inner.mask

    async def post(self, call: HttpCall, until: float) -> Response:
        """Send *call* to a slot; see ``Transport.post``."""
        call.waits()
        seat = await self._usher.sit(self._session)
        call.leaves()
        call = replace(call, body=_placed(call.body, None if seat is None else seat.id))
        if seat is None:
            return await self._inner.post(call, until)
        try:
            return _Seated(await self._inner.post(call, until), self._usher, seat)
        except BaseException:
            self._usher.stand(seat, None)
            raise


class _Seated:
    """An answer that is computed in a slot; closing it frees the slot."""

    __slots__ = ("_inner", "_seat", "_tail", "_usher")

    def __init__(self, inner: Response, usher: Usher, seat: Seat) -> None:
        self._inner = inner
        self._usher = usher
        self._seat: Seat | None = seat
        self._tail = b""

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def read(self) -> bytes:
        chunk = await self._inner.read()
        self._tail = (self._tail + chunk)[-_TAIL:]
        return chunk

    def wait_until(self, moment: float) -> None:
        self._inner.wait_until(moment)

    def close(self) -> None:
        self._inner.close()
        seat, self._seat = self._seat, None
        if seat is not None:
            self._usher.stand(seat, computed_of(self._tail))


def computed_of(tail: bytes) -> Computed | None:
    """Return what the end of an answer tells of what was computed, None if it does not."""
    found = _TIMINGS.findall(tail)
    if not found:
        return None
    try:
        told = orjson.loads(found[-1])
    except orjson.JSONDecodeError:
        return None
    values = [told.get(name) for name in _COUNTS]
    if not all(isinstance(value, int | float) and value >= 0 for value in values):
        return None
    cached, read, written, read_ms = values
    return Computed(int(cached), int(read), int(written), read_ms / 1000)


def _placed(body: bytes, slot: int | None) -> bytes:
    """Return *body* with the slot it is for; a slot that the caller names would be another's."""
    told = orjson.loads(body)
    told.pop("id_slot", None)
    if slot is not None:
        told["id_slot"] = slot
    told.setdefault("cache_prompt", True)
    return orjson.dumps(told)
