"""Sends traces to a collector: beside the requests, never in their way, and bounded.

Why not by OpenTelemetry's own exporter: ``docs/decisions/0020-traces-by-our-own-exporter.md``.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from secrets import token_hex
from time import monotonic
from typing import Final, Literal, TypeAlias, get_args

import anyio
import orjson
import structlog
from prometheus_client import CollectorRegistry, Counter

from gateway.config.tracing import TracingConfig
from gateway.metering.ledger import Fact, RequestFinished
from gateway.metering.meters.spans import batch, spans_of
from gateway.metering.spool import Reader
from gateway.metering.trace import Begin, Trace, begun, untraced
from gateway.upstream.pool import Endpoint, PooledTransport
from gateway.upstream.provider import HttpCall
from gateway.upstream.transport import Transport
from gateway.upstream.ways import STRAIGHT, Ways
from techniques.core.errors import UpstreamFailed
from techniques.core.groups import task_group
from techniques.core.json import JsonObject

End: TypeAlias = Literal["sent", "dropped"]

_PATH: Final = "v1/traces"
"""At the collector: it is no surface of ours."""
_MOST: Final = 8192
_TOGETHER: Final = 512
_SOON_S: Final = 1.0
_ANSWER_S: Final = 10.0
_PAUSE_S: Final = 1.0
_LONGEST_PAUSE_S: Final = 30.0
_LAST_S: Final = 2.0
_AGAIN: Final = frozenset({429, 502, 503, 504})
"""What a collector says that wants to be asked again later; see OTLP/HTTP, "Retryable"."""

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Tracing:
    """``begin`` tells where a request stands; *readers* are to be told of its facts."""

    begin: Begin
    readers: tuple[Reader, ...] = ()


class SpanQueue:
    """Spans that wait to be sent, up to *most*: what comes then is dropped, and counted."""

    def __init__(self, count: Callable[[End, int], None], most: int = _MOST) -> None:
        self._count = count
        self._most = most
        self._waiting: list[JsonObject] = []
        self._some = anyio.Event()

    def __call__(self, facts: Sequence[Fact]) -> None:
        """Take in the spans of *facts*."""
        for fact in facts:
            if isinstance(fact, RequestFinished):
                spans = spans_of(fact)
                fit = spans[: self._most - len(self._waiting)]
                self._waiting += fit
                if len(fit) < len(spans):
                    self._count("dropped", len(spans) - len(fit))
        if self._waiting:
            self._some.set()

    async def some(self) -> None:
        """Wait until there are some."""
        if not self._waiting:
            self._some = anyio.Event()
            await self._some.wait()

    def first(self) -> list[JsonObject]:
        """Return the oldest, as many as go together."""
        return self._waiting[:_TOGETHER]

    def done(self, spans: Sequence[JsonObject], *, refused: int) -> None:
        """Take the oldest *spans* out: they are with the collector, but for those it *refused*."""
        del self._waiting[: len(spans)]
        self._count("sent", len(spans) - refused)
        if refused:
            self._count("dropped", refused)


class Exporter:
    """Sends what is in *queue* through *transport*."""

    def __init__(self, queue: SpanQueue, transport: Transport, resource: JsonObject) -> None:
        self._queue = queue
        self._transport = transport
        self._resource = resource
        self._lost = False

    async def serve(self) -> None:
        """Do so until it is cancelled: soon, and many together."""
        pause_s = _PAUSE_S
        while True:
            await self._queue.some()
            await anyio.sleep(_SOON_S)
            while self._queue.first():
                if await self._sent():
                    pause_s = _PAUSE_S
                else:
                    await anyio.sleep(pause_s)
                    pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def finish(self) -> None:
        """Send what is left, as far as the collector takes it at once."""
        with anyio.move_on_after(_LAST_S, shield=True):
            while self._queue.first() and await self._sent():
                pass

    async def _sent(self) -> bool:
        """Send the oldest; tell whether that is done with, or to be tried again later."""
        spans = self._queue.first()
        body = orjson.dumps(batch(spans, self._resource))
        try:
            status, answer = await self._post(body)
        except UpstreamFailed as error:
            return self._not_now(error.message.replace("provider", "collector"))
        if status in _AGAIN:
            return self._not_now(f"it answers with {status}")
        if status // 100 != 2:
            _log.error("traces.refused", status=status, spans=len(spans))
            self._queue.done(spans, refused=len(spans))
            return True
        self._lost = False
        self._queue.done(spans, refused=min(_rejected(answer), len(spans)))
        return True

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        call = HttpCall(f"/{_PATH}", body, {"content-type": "application/json"})
        response = await self._transport.post(call, monotonic() + _ANSWER_S)
        answer = bytearray()
        try:
            while len(answer) < 64 * 1024 and (chunk := await response.read()):
                answer += chunk
        finally:
            response.close()
        return response.status, bytes(answer)

    def _not_now(self, why: str) -> bool:
        if not self._lost:
            _log.warning("traces.held_up", why=why)
        self._lost = True
        return False


def _rejected(answer: bytes) -> int:
    """Return how many spans the collector says that it did not take."""
    try:
        told = orjson.loads(answer or b"{}")
        return max(int(told.get("partialSuccess", {}).get("rejectedSpans", 0)), 0)
    except (ValueError, TypeError, AttributeError):
        return 0


def span_counts(registry: CollectorRegistry) -> Callable[[End, int], None]:
    """Return what counts in *registry* what becomes of spans."""
    ends = Counter(
        "lockgate_trace_spans",
        "Spans of traces, by whether the collector has them.",
        ("result",),
        registry=registry,
    )
    children = {end: ends.labels(end) for end in get_args(End)}
    return lambda end, number: children[end].inc(number)


@asynccontextmanager
async def tracing(
    stated: TracingConfig, count: Callable[[End, int], None], ways: Ways = STRAIGHT
) -> AsyncGenerator[Tracing, None]:
    """Open what *stated* says, and *count* what becomes of spans; *ways* lead to the collector.

    Leaving sends what waits, for two seconds at the most.
    """
    if stated.otlp is None:
        yield Tracing(untraced)
        return
    base = stated.otlp.rstrip("/").removesuffix(f"/{_PATH}")
    transport = PooledTransport(
        Endpoint(base, stated.headers, 5.0, allow_private=True, proxy=ways.to(base))
    )
    queue = SpanQueue(count)
    exporter = Exporter(queue, transport, _resource(stated))
    try:
        async with task_group() as group:
            group.start_soon(exporter.serve)
            yield Tracing(partial(_begun, stated.sample), (queue,))
            group.cancel_scope.cancel()
        await exporter.finish()
    finally:
        await transport.close()


def _begun(part: float, traceparent: str | None, request_id: str) -> Trace:
    return begun(traceparent, request_id, part)


def _resource(stated: TracingConfig) -> JsonObject:
    return {
        "service.name": stated.service,
        "service.version": metadata.version("lockgate"),
        "service.instance.id": token_hex(8),
    }
