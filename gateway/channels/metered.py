"""Writes down each sub-call, however it ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter

from gateway.metering import estimate
from gateway.metering.ledger import CallFinished, Ledger
from gateway.upstream.provider import Target
from pricing.cost import cost
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Channel
from techniques.core.errors import GatewayError, StreamBroken, UpstreamFailed
from techniques.core.events import (
    Event,
    Note,
    RefusalDelta,
    Relayed,
    Started,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    UsageReported,
    Warned,
)
from techniques.core.request import Request

_CANCELLED = ("cancelled", "client_disconnect")


@dataclass(slots=True)
class _Seen:
    """What came by of one sub-call."""

    started: float = field(default_factory=perf_counter)
    started_at: float = field(default_factory=lambda: datetime.now(UTC).timestamp())
    usage: Usage | None = None
    counted: bool = False
    characters: int = 0
    begun: bool = False
    first_s: float | None = None
    outcome: str = ""


class MeteredChannel:
    """Passes everything on and records one fact a sub-call."""

    def __init__(self, inner: Channel, target: Target, price: Price | None, ledger: Ledger) -> None:
        self._inner = inner
        self._target = target
        self._price = price
        self._ledger = ledger

    @asynccontextmanager
    async def open(self, request: Request) -> AsyncGenerator[AsyncIterator[Event], None]:
        """Send *request* on; the fact is recorded on leaving, also when cancelled."""
        seen = _Seen()
        try:
            async with self._inner.open(request) as events:
                seen.first_s = perf_counter() - seen.started
                if request.role == "answer":
                    self._ledger.answering = self._target
                async with aclosing(self._watched(events, seen)) as watched:
                    yield watched
        except GatewayError as error:
            seen.outcome = seen.outcome or _outcome(error)
            if isinstance(error, UpstreamFailed) and error.said.usage:
                seen.usage, seen.counted = error.said.usage, True
            raise
        finally:
            self._record(request, seen)

    async def _watched(
        self, events: AsyncIterator[Event], seen: _Seen
    ) -> AsyncGenerator[Event, None]:
        async for event in events:
            match event:
                case Relayed():
                    seen.begun = True
                    seen.characters += event.characters
                case TextDelta() | ThinkingDelta() | RefusalDelta():
                    seen.begun = True
                    seen.characters += len(event.text)
                case ToolCallDelta():
                    seen.begun = True
                    seen.characters += len(event.arguments)
                case UsageReported():
                    seen.usage = event.usage
                case Warned():
                    self._ledger.record(event)
                case Started() | Note():
                    pass
                case _:
                    seen.begun = True
            yield event
        seen.outcome = "ok"

    def _record(self, request: Request, seen: _Seen) -> None:
        outcome = seen.outcome or self._left()
        usage, estimated = _usage(request, seen, outcome)
        self._ledger.record(
            CallFinished(
                model=self._target.name,
                provider=self._target.provider,
                role=request.role,
                step=request.step,
                usage=usage,
                estimated=estimated,
                cost=self._cost(usage),
                cost_source="unknown" if self._price is None else "operator",
                outcome=outcome,
                started_at=seen.started_at,
                seconds=perf_counter() - seen.started,
                first_s=seen.first_s,
            )
        )

    def _cost(self, usage: Usage) -> int | None:
        if usage == Usage():
            return 0
        return None if self._price is None else cost(usage, self._price)

    def _left(self) -> str:
        return _CANCELLED[self._ledger.client_left]


def _usage(request: Request, seen: _Seen, outcome: str) -> tuple[Usage, bool]:
    """Return the tokens used, and whether they were guessed.

    A call that failed before its answer began used none. One that was cancelled by then was
    sent, and its input is paid for.
    """
    if seen.usage is not None and (outcome == "ok" or seen.counted):
        return seen.usage, False
    if not seen.begun and outcome not in _CANCELLED:
        return Usage(), False
    known = seen.usage or Usage(input_tokens=estimate.input_tokens(request))
    guess = estimate.output_tokens(seen.characters, request)
    return known + Usage(output_tokens=max(guess - known.output_tokens, 0)), True


def _outcome(error: GatewayError) -> str:
    match error:
        case StreamBroken():
            return "truncated" if error.kind == "transport" else error.kind
        case UpstreamFailed():
            return error.kind
        case _:
            return error.code
