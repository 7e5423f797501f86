"""Sends a request to one model at one account, and gives back its answer as events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

import anyio

from gateway.upstream.provider import HttpCall, Provider, Reader, Target
from gateway.upstream.transport import Response, Transport
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Note, Started, UsageReported, Warned
from techniques.core.request import Request

_ERROR_BODY: Final = 64 * 1024
_LINGER: Final = 0.25
_PREAMBLE: Final = (Started, UsageReported, Note, Warned)
"""Events that may come although the model has not said anything yet."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds to wait for the first content, and between one content and the next."""

    first_byte_s: float
    idle_s: float


class HttpChannel:
    """A model at a provider, as a channel."""

    def __init__(
        self, transport: Transport, provider: Provider, target: Target, patience: Patience
    ) -> None:
        self._transport = transport
        self._provider = provider
        self._target = target
        self._patience = patience

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request*; a failure before the first content raises here."""
        call = self._provider.encode(request, self._target)
        async with AsyncExitStack() as stack:
            try:
                with anyio.fail_after(self._patience.first_byte_s):
                    answer = await self._begin(stack, request, call)
            except TimeoutError as error:
                raise UpstreamFailed(
                    "The provider did not begin to answer in time.", "timeout", retryable=True
                ) from error
            yield await stack.enter_async_context(aclosing(answer.events()))

    async def _begin(self, stack: AsyncExitStack, request: Request, call: HttpCall) -> _Answer:
        response = await stack.enter_async_context(self._transport.post(call))
        if response.status != 200:
            raise await self._failure(response)
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        reader = self._provider.reader(request, self._target, streamed=streamed)
        chunks = await stack.enter_async_context(aclosing(response.chunks()))
        answer = _Answer(chunks, reader, list(call.warnings), self._patience.idle_s)
        await answer.begin()
        return answer

    async def _failure(self, response: Response) -> UpstreamFailed:
        body = bytearray()
        async with aclosing(response.chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > _ERROR_BODY:
                    break
        headers = {name.lower(): value for name, value in response.headers.items()}
        return self._provider.failure(response.status, headers, bytes(body[:_ERROR_BODY]))


class _Answer:
    """An answer that is being read: what came before the first content, then the rest."""

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        reader: Reader,
        first: list[Event],
        idle_s: float,
    ) -> None:
        self._chunks = chunks
        self._reader = reader
        self._first = first
        self._idle_s = idle_s
        self._ended = False
        self._failure: UpstreamFailed | None = None

    async def begin(self) -> None:
        """Read until the model has said something; what came up to then is kept.

        Raises:
            UpstreamFailed: It failed before that.
        """
        begun = False
        while not begun:
            try:
                for event in self._read(await anext(self._chunks, None)):
                    self._first.append(event)
                    begun = begun or not isinstance(event, _PREAMBLE)
            except UpstreamFailed as error:
                if not begun:
                    raise
                self._failure = error  # it has its turn after what came before it

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events; ``Finished`` is held until the connection has been read to its end."""
        finished: Finished | None = None
        try:
            async with aclosing(self._events()) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        yield event
        except UpstreamFailed as error:
            raise StreamBroken(error.message, error.kind, said=error.said) from error
        if finished is not None:
            await self._drain()
            yield finished

    async def _events(self) -> AsyncGenerator[Event, None]:
        for event in self._first:
            yield event
            if isinstance(event, Finished):
                return
        if self._failure:
            raise self._failure
        deadline = anyio.current_time() + self._idle_s
        while not self._ended:
            spoke = False
            for event in self._read(await self._next(deadline)):
                spoke = True
                yield event
                if isinstance(event, Finished):
                    return
            if spoke:  # comments alone do not keep an answer alive
                deadline = anyio.current_time() + self._idle_s

    def _read(self, chunk: bytes | None) -> Iterator[Event]:
        if chunk is not None:
            return self._reader.feed(chunk)
        self._ended = True
        return self._reader.end()

    async def _next(self, deadline: float) -> bytes | None:
        with anyio.CancelScope(deadline=deadline):
            return await anext(self._chunks, None)
        raise UpstreamFailed("The provider fell silent in mid-answer.", "timeout")

    async def _drain(self) -> None:
        """Read what is left, so that the connection can be used again; but not for long."""
        with anyio.move_on_after(_LINGER):
            while not self._ended:
                try:
                    self._ended = await anext(self._chunks, None) is None
                except UpstreamFailed:
                    return
