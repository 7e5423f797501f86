"""Puts an answer on the wire, and nothing is left open when the client has gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Final, Protocol, TypeAlias

import anyio
import anyio.lowlevel
from starlette.types import Message, Receive, Send

from gateway.metering.holds import Holding
from gateway.metering.ledger import Ledger
from gateway.wire.dialect import Call, Dialect, Encoder, Summary
from gateway.wire.unsaid import LOSING, unsaid
from gateway.wire.vigil import Vigil, begun
from techniques.core.errors import GatewayError
from techniques.core.events import (
    Event,
    Note,
    Provisional,
    Relayed,
    Started,
    Traced,
    UsageReported,
    Warned,
)
from techniques.core.reply import Fold, Reply

Answer: TypeAlias = AbstractAsyncContextManager[AsyncIterator[Event]]
Headers: TypeAlias = list[tuple[bytes, bytes]]
Leaving: TypeAlias = Callable[[Callable[[], object] | None], None]
"""Has a server tell a callback when the client leaves; None: nobody wants to know any more."""

_JSON: Final = (b"content-type", b"application/json")
_STREAM: Final = (
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)
_EARLY: Final = (Provisional, Traced)
"""What a client asked to be shown before the answer: it is sent at once, and so is the status."""
_HELD_AFTER_S: Final = 1.0
"""A shorter hold is not spoken of."""
_HELD_EVERY_S: Final = 10.0
_SILENT: Final = (Started, UsageReported, Note, Warned, *_EARLY)
"""Events that do not begin an answer: until another comes, a failure has its own status."""


class Gone(GatewayError):
    """The client has left."""

    default_code = "client_gone"


class Keeps(Protocol):
    """Keeps an answer before its client has the end of it."""

    async def last(self, data: bytes) -> bytes:
        """Return the last bytes of a stream as the client gets them."""
        ...

    async def whole(self, body: bytes) -> bytes:
        """Return a whole answer as the client gets it."""
        ...


@dataclass(slots=True)
class Exchange:
    """One request's way back to its client: the socket, and what happened on it.

    ``head`` and ``summary`` are asked for when they are needed: at the first byte, and at the end.
    ``status`` is what was sent, None before. ``begun_at`` is when the answer began, ``left_at``
    when the client was seen to leave (times of ``perf_counter``). ``keeps`` None: nothing is kept.
    ``leaving`` None: the server tells of that to ``receive`` alone.
    """

    dialect: Dialect
    call: Call
    receive: Receive
    send: Send
    ledger: Ledger
    head: Callable[[], Headers]
    summary: Callable[[], Summary]
    status: int | None = None
    begun_at: float | None = None
    left_at: float | None = None
    failure: GatewayError | None = None
    ended: bool = False
    keeps: Keeps | None = None
    leaving: Leaving | None = None
    _last_write: float = field(default_factory=perf_counter)
    _nap: anyio.CancelScope | None = None
    _writer: Encoder | None = None

    async def respond(
        self, answer: Answer, encoder: Callable[[], Encoder], keepalive_s: float
    ) -> None:
        """Send *answer*; when the client hangs up, what runs for it is cancelled at once.

        *encoder* makes what writes it if it is streamed.

        The watcher is a bare task, the only one in the product: a task group costs a small
        request a tenth of all it takes. It is cancelled here, and only waits or pings. Where the
        server tells a callback, a whole answer has none, a stream from its first silence or hold.

        Raises:
            GatewayError: The answer failed before anything was sent.
        """
        serving = asyncio.current_task()
        assert serving is not None
        if self.call.streamed:
            self._writer = writer = encoder()
            sending = self._stream(answer, writer)
            stop = self._watch_stream(serving, writer, keepalive_s)
        else:
            sending = self._whole(answer)
            stop = self._watch(serving)
        try:
            await sending
        except asyncio.CancelledError:
            if self.left_at is None or serving.uncancel():
                raise
        finally:
            stop()

    def _watch(self, serving: asyncio.Task[Any]) -> Callable[[], object]:
        """Wait for the client to leave; return what ends that."""
        if self.leaving is None:
            return begun(self._await_leaving(serving))
        self.leaving(partial(self._left, serving))
        return partial(self.leaving, None)

    def _watch_stream(
        self, serving: asyncio.Task[Any], encoder: Encoder, keepalive_s: float
    ) -> Callable[[], object]:
        """Do so, and keep a silent stream alive until then."""
        if self.leaving is None:
            leaving = partial(self._await_leaving, serving)
            return begun(self._stay_alive(encoder, keepalive_s, leaving))
        watching = partial(self._stay_alive, encoder, keepalive_s, anyio.sleep_forever)
        vigil = Vigil(watching, self._watch(serving))
        self.ledger.holds.watch = vigil.begin
        vigil.begin_after(keepalive_s, serving.get_loop())
        return vigil.end

    async def _await_leaving(self, serving: asyncio.Task[Any]) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self._left(serving)

    def _left(self, serving: asyncio.Task[Any]) -> None:
        if not self.ended:  # a response that is complete also reads as gone
            self.left_at = perf_counter()
            self.ledger.client_left = True
            serving.cancel()

    async def _stay_alive(
        self, encoder: Encoder, keepalive_s: float, over: Callable[[], Awaitable[None]]
    ) -> None:
        """Keep a silent stream alive until it is *over*."""
        self.ledger.holds.watch = self._look_again
        while not self.ended:
            holding = self.ledger.holds.longest
            due_s = self._due_s(keepalive_s, holding)
            if due_s <= 0:
                await self._write(encoder.ping() if holding is None else _held(holding, encoder))
                continue
            with anyio.move_on_after(due_s) as self._nap:
                await over()
                return

    def _due_s(self, keepalive_s: float, holding: Holding | None) -> float:
        """Return in how many seconds the client is to be told that it is not forgotten."""
        now = perf_counter()
        silent_s = now - self._last_write
        if holding is None:
            return keepalive_s - silent_s
        if self._last_write <= holding.since:  # it was not told of this hold
            return holding.since + _HELD_AFTER_S - now
        return min(_HELD_EVERY_S, keepalive_s) - silent_s

    def _look_again(self) -> None:
        if self._nap is not None:
            self._nap.cancel()

    async def _whole(self, answer: Answer) -> None:
        told: list[Event] = []
        relayed: list[bytes] = []
        traced: list[Traced] = []
        async with answer as events:
            async for event in events:
                if isinstance(event, Relayed):
                    relayed.append(event.raw)
                elif isinstance(event, Traced):
                    traced.append(event)
                else:
                    self._note(event)
                    told.append(event)
        self.begun_at = self.begun_at or perf_counter()
        if not relayed:
            summary = replace(self.summary(), trace=tuple(traced))
            relayed.append(self.dialect.whole(self.call, _folded(told), summary))
        elif self.call.rewrite is not None:
            relayed = self.call.rewrite(relayed, self.summary())
        if self.keeps is not None:
            relayed = [await self.keeps.whole(b"".join(relayed))]
        await self._send_whole(200, relayed, [_JSON, *self.head()])

    async def _stream(self, answer: Answer, encoder: Encoder) -> None:
        held = b""  # a status that was not sent can still be another
        try:
            async with answer as events:
                async for event in events:
                    if self.begun_at is None or type(event) in LOSING:
                        self._note(event)
                    held += encoder.feed(event)
                    underway = self.begun_at is not None or self.status is not None
                    if held and (underway or isinstance(event, _EARLY)):
                        await self._write(held)
                        held = b""
            last = encoder.end(self.summary())
        except GatewayError as error:
            if self.status is None or isinstance(error, Gone):
                raise
            self.failure = error
            last = encoder.fail(error)
        if self.keeps is not None:
            last = await self.keeps.last(last)
        self.ended = True
        await self._write(last)

    async def break_off(self, error: GatewayError) -> None:
        """End a stream that has begun and cannot go on, so that no client takes it for whole."""
        if self._writer is not None and self.status is not None and not self.ended:
            self.failure = error
            self.ended = True
            await self._write(self._writer.fail(error))

    def _note(self, event: Event) -> None:
        """Take notice of what is no part of the answer's bytes."""
        if (lost := unsaid(event, self.call.dialect)) is not None:
            self.ledger.record(lost)
        if self.begun_at is None and not isinstance(event, _SILENT):
            self.begun_at = perf_counter()

    async def _send_whole(self, status: int, pieces: list[bytes], headers: Headers) -> None:
        """Send a body of *pieces*: of a large one no copy is made, and no more than is taken."""
        self.status = status
        headers.append((b"content-length", b"%d" % sum(map(len, pieces))))
        await self._put({"type": "http.response.start", "status": status, "headers": headers})
        *others, last = pieces
        for piece in others:
            await self._put({"type": "http.response.body", "body": piece, "more_body": True})
            # a server takes all for a client that has left: who watches for that has its turn
            await anyio.lowlevel.checkpoint()
        self.ended = True
        await self._put({"type": "http.response.body", "body": last, "more_body": False})

    async def _write(self, data: bytes) -> None:
        self._last_write = perf_counter()
        if self.status is None:
            self.status = 200
            headers = [(b"content-type", self.dialect.stream_type), *_STREAM, *self.head()]
            await self._put({"type": "http.response.start", "status": 200, "headers": headers})
        more = not self.ended
        await self._put({"type": "http.response.body", "body": data, "more_body": more})

    async def _put(self, message: Message) -> None:
        try:
            await self.send(message)
        except RuntimeError as error:  # a server that could not see the client leave
            raise Gone("The client left.") from error


def _held(holding: Holding, encoder: Encoder) -> bytes:
    """Return what tells of a hold, as *encoder* says it."""
    said = {"state": "held", "eta_ms": holding.eta_ms, "position": holding.position}
    return encoder.held(said | {"reason": holding.reason})


def _folded(events: list[Event]) -> Reply:
    folded = Fold()
    for event in events:
        folded.feed(event)
    return folded.reply()


def encoded(values: Mapping[str, str | None]) -> Headers:
    """Return *values* as headers; those that are None are left out."""
    return [
        (name.encode(), value.encode("latin-1", "replace"))
        for name, value in values.items()
        if value is not None
    ]
