"""Sends a request to one model at one account, and gives back its answer as events.

The context managers here and in the channels above are written out and not made of generators:
they are entered for every call, and that is a third of the gateway's own cost of a small one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import Final

import structlog

from gateway.upstream.embeddings.batches import count_of
from gateway.upstream.faults import endless
from gateway.upstream.head import Head, Headed
from gateway.upstream.provider import HttpCall, Provider, Reader, Target
from gateway.upstream.redact import Mask
from gateway.upstream.spelling import spelled
from gateway.upstream.transport import Response, Transport
from techniques.core.channel import EventStream
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Note, Relayed, Started, UsageReported, Warned
from techniques.core.relayed import EMBEDDING
from techniques.core.request import Request

_ERROR_BODY: Final = 64 * 1024
_MOST_UNSAID: Final = 64 * 2**20
"""Bytes of an answer that may come without anything being said: a whole one, or an event."""
_MOST_VECTORS: Final = 512 * 2**20
"""The same of embeddings: 2,048 of 3,072 numbers each are 140 MB, as OpenAI writes them."""
_MOST_VECTOR: Final = 256 * 1024
"""Bytes that one of them has at most where a few bytes may be many: 8,192 numbers are 180 KB."""
_LINGER_S: Final = 0.25
_WORDS_S: Final = 5.0
_OK: Final = 200
_PREAMBLE: Final = (Started, UsageReported, Note, Warned)
"""Events that may come although the model has not said anything yet."""
_BOM: Final = b"\xef\xbb\xbf"
_UNREADABLE: Final = (LookupError, TypeError, ValueError, AttributeError, RecursionError)
"""What a codec raises that meets a shape it did not expect."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for the first content, and between one content and the next."""

    first_byte_s: float
    idle_s: float


@dataclass(frozen=True, slots=True)
class HttpChannel:
    """A model at a provider, as a channel."""

    transport: Transport
    provider: Provider
    target: Target
    patience: Patience

    def open(self, request: Request) -> EventStream:
        """Send *request*; a failure before the first content is raised on entering."""
        return _Call(self, request)

    def refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means, without the account's credentials."""
        return self.transport.mask.failure(self.provider.failure(status, headers, body))


def _unread(error: Exception, mask: Mask) -> UpstreamFailed:
    """Return the failure that *error* is: a reader that trips over an answer is not a bug of ours.

    What a provider sends is not ours to trust, and no list of its oddities is complete.
    """
    if isinstance(error, UpstreamFailed):
        return mask.failure(error)
    _log.warning("answer.unreadable", exc_info=error)
    return UpstreamFailed("The provider's answer cannot be read.", "invalid_answer", retryable=True)


def _is_stream(content_type: str, start: bytes) -> bool:
    """Return whether an answer is a stream of events: by what it says it is, or what it is."""
    said = content_type.lower().startswith("text/event-stream")
    return said or start.lstrip(_BOM).startswith((b"data:", b"event:", b": "))


def _most(request: Request, headers: Mapping[str, str]) -> int:
    """Return how many bytes may come unsaid; packed, no more than the inputs can need."""
    if request.role != EMBEDDING or request.relay is None:
        return _MOST_UNSAID
    if "content-encoding" not in headers:
        return _MOST_VECTORS
    given = request.relay.body.get("input")
    return min(_MOST_VECTORS, _MOST_UNSAID + count_of(given) * _MOST_VECTOR)


class _Call(Headed):
    """One call. Entering sends it and waits for the first content."""

    __slots__ = (
        "_channel",
        "_deadline",
        "_ended",
        "_events",
        "_failure",
        "_finished",
        "_first",
        "_headed",
        "_most",
        "_over",
        "_reader",
        "_request",
        "_response",
        "_said",
        "_spoken",
        "_unsaid",
        "unsent",
    )

    _response: Response
    _reader: Reader
    _events: Iterator[Event]

    def __init__(self, channel: HttpChannel, request: Request) -> None:
        self._channel = channel
        self._request = request
        self._first: list[Event] = []
        self._ended = False
        self._deadline = 0.0
        self._spoken = True
        self._unsaid = 0
        self._most = 0
        self._finished: Finished | None = None
        self._over = False
        self._failure: UpstreamFailed | None = None
        self._headed = False
        self._said = b""
        self.unsent = False

    def is_unsent(self) -> bool:
        """Return whether it is sure that nothing was sent."""
        return self.unsent

    def head(self) -> Head | None:
        """Return the head of the answer, None before it has come."""
        if not self._headed:
            return None
        response, mask = self._response, self._channel.transport.mask
        return Head(response.status, response.headers, self._said, mask)

    async def __aenter__(self) -> AsyncIterator[Event]:
        channel = self._channel
        self.unsent = True
        call = await spelled(channel.provider, self._request, channel.target)
        self.unsent = False  # unless the transport says so: it alone knows
        headers = call.headers
        if self._request.journaled and channel.target.idempotent:
            headers = {**headers, "idempotency-key": self._request.journaled}
        if self._request.traceparent:
            headers = {**headers, "traceparent": self._request.traceparent}
        sent = HttpCall(call.path, call.body, headers, call.warnings, call.method, self)
        self._deadline = monotonic() + channel.patience.first_byte_s
        self._response = await channel.transport.post(sent, self._deadline)
        self._headed = True
        self._first.extend(call.warnings)
        try:
            await self._begin()
        except BaseException:
            self._response.close()
            raise
        self._events = iter(self._first)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over = self._ended = True
        self._events = iter(())
        self._response.close()

    async def _begin(self) -> None:
        """Read until the model has said something; what came up to then is kept."""
        if self._response.status != _OK:
            raise await self._refusal()
        channel, response = self._channel, self._response
        self._most = _most(self._request, response.headers)
        chunk = await response.read()
        streamed = _is_stream(response.headers.get("content-type", ""), chunk)
        self._reader = channel.provider.reader(self._request, channel.target, streamed=streamed)
        begun = False
        while not begun:
            try:
                for event in self._read(chunk):
                    self._first.append(event)
                    begun = begun or not isinstance(event, _PREAMBLE)
            except (UpstreamFailed, *_UNREADABLE) as error:
                failure = _unread(error, channel.transport.mask)
                if not begun:
                    raise failure from error
                self._failure = failure  # it has its turn after what came before it
            if not begun and monotonic() > self._deadline:
                raise UpstreamFailed(
                    "The provider did not begin to answer in time.", "timeout", retryable=True
                )
            if not begun:
                chunk = await response.read()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        """Return the next event; ``Finished`` waits until the connection was read to its end."""
        try:
            while True:
                for event in self._events:
                    if isinstance(event, Finished):
                        self._finished = event
                        break
                    if not isinstance(event, Relayed) or event.characters:
                        self._spoken = True
                    return event
                if self._finished is not None:
                    return await self._last(self._finished)
                self._events = await self._more()
        except (UpstreamFailed, *_UNREADABLE) as error:
            failed = _unread(error, self._channel.transport.mask)
            raise StreamBroken(failed.message, failed.kind, said=failed.said) from error

    async def _last(self, finished: Finished) -> Finished:
        if self._over:
            raise StopAsyncIteration
        self._over = True
        await self._drain()
        return finished

    async def _more(self) -> Iterator[Event]:
        """Return the events of the next bytes.

        Comments alone do not keep an answer alive: something must have been said.
        """
        if self._failure is not None:
            raise self._failure
        if self._ended:
            raise StopAsyncIteration
        now = monotonic()
        if self._spoken:
            self._spoken = False
            self._unsaid = 0
            self._deadline = now + self._channel.patience.idle_s
            self._response.wait_until(self._deadline)
        elif now > self._deadline:
            raise UpstreamFailed("The provider fell silent in mid-answer.", "timeout")
        return self._read(await self._response.read())

    def _read(self, chunk: bytes) -> Iterator[Event]:
        if chunk:
            if self._unsaid > self._most:
                raise endless()
            self._unsaid += len(chunk)
            return self._reader.feed(chunk)
        self._ended = True
        return self._reader.end()

    async def _drain(self) -> None:
        """Read what is left, so that the connection can be used again; but not for long."""
        until = monotonic() + _LINGER_S
        self._response.wait_until(until)
        while not self._ended and monotonic() < until:
            try:
                self._ended = not await self._response.read()
            except UpstreamFailed:
                return

    async def _refusal(self) -> UpstreamFailed:
        """Return what the status means; the provider's words for it are read if they come soon."""
        response = self._response
        until = min(monotonic() + _WORDS_S, self._deadline)
        response.wait_until(until)
        body = bytearray()
        with suppress(UpstreamFailed):
            while len(body) < _ERROR_BODY and monotonic() < until:
                if not (chunk := await response.read()):
                    break
                body += chunk
        self._said = bytes(body[:_ERROR_BODY])
        return self._channel.refusal(response.status, response.headers, self._said)
