"""Writes down each sub-call, however it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from secrets import token_hex
from time import perf_counter
from types import TracebackType

from gateway.metering import estimate
from gateway.metering.heard import Answering, Heard
from gateway.metering.ledger import CallFinished, Ledger
from gateway.metering.weighed import Weighed
from gateway.upstream.head import Head, Headed
from gateway.upstream.provider import Target
from pricing.charge import UNSENT, charged
from pricing.parts import output_part
from pricing.price import Price
from pricing.usage import Usage
from techniques.core.channel import Channel
from techniques.core.errors import GatewayError, RequestRejected, StreamBroken, UpstreamFailed
from techniques.core.events import (
    Event,
    Finished,
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
from techniques.core.relayed import EMBEDDING
from techniques.core.request import Request

_NOTHING = Usage()
_CANCELLED = ("cancelled", "client_disconnect")
_ANSWERS = frozenset({"answer", EMBEDDING})


class MeteredChannel:
    """Passes everything on and records one fact a sub-call."""

    __slots__ = ("inner", "ledger", "price", "target")

    def __init__(self, inner: Channel, target: Target, price: Price | None, ledger: Ledger) -> None:
        self.inner = inner
        self.target = target
        self.price = price
        self.ledger = ledger

    def open(self, request: Request) -> MeteredCall:
        """Send *request* on; the fact is recorded on leaving, also when cancelled."""
        return MeteredCall(self, request)


class MeteredCall(Headed):
    """One sub-call, and what came by of it. ``row`` is its fact, once it has ended.

    ``lease`` names what it holds of its account and its caller, "" if it holds nothing; it was
    ``held_s`` at a rate limit before it was let through. ``span`` names it where a trace is kept.
    """

    __slots__ = (
        "_call",
        "_channel",
        "_events",
        "_request",
        "_started",
        "_started_at",
        "_weighed",
        "begun",
        "characters",
        "counted",
        "first_s",
        "held_s",
        "lease",
        "mode",
        "outcome",
        "row",
        "span",
        "thought",
        "told",
        "usage",
        "whole",
    )

    _events: AsyncIterator[Event]

    def __init__(self, channel: MeteredChannel, request: Request) -> None:
        self._channel = channel
        self.span: str | None = None
        if channel.ledger.trace is not None:
            self.span = token_hex(8)
            request = replace(request, traceparent=channel.ledger.trace.header(self.span))
        self._request = request
        self._call = channel.inner.open(request)
        self._started = perf_counter()
        self._started_at = datetime.now(UTC).timestamp()
        self.usage: Usage | None = None
        self.mode = ""
        self.told: int | None = None
        self.counted = False
        self.characters = 0
        self.thought = 0  # characters of reasoning, as far as it is told apart
        self.begun = False
        self.first_s: float | None = None
        self.outcome = ""
        self.whole = False  # its answer came to its end, whatever becomes of the call
        self._weighed: Weighed | None = None
        self.row: CallFinished | None = None
        self.lease = ""
        self.held_s = 0.0

    def head(self) -> Head | None:
        """Return the head of the answer, as far as one has come."""
        return self._call.head() if isinstance(self._call, Headed) else None

    def is_unsent(self) -> bool:
        """Return whether it is sure that nothing was sent."""
        return isinstance(self._call, Headed) and self._call.is_unsent()

    async def __aenter__(self) -> AsyncIterator[Event]:
        try:
            events = await self._call.__aenter__()
        except BaseException as error:
            self._failed(error)
            self._hear()
            if not isinstance(error, RequestRejected):  # which was refused before it was sent
                self._record()
            raise
        self.first_s = perf_counter() - self._started
        if self._request.role in _ANSWERS:
            target = self._channel.target
            answering = Answering(target.name, target.provider, target.shown)
            self._channel.ledger.answering = answering
            self._hear()
        self._events = aiter(events)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._call.__aexit__(kind, error, trace)
        finally:
            self._record()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        try:
            event = await self._events.__anext__()
        except StopAsyncIteration:
            self.outcome = "ok"
            raise
        except GatewayError as error:
            self._failed(error)
            raise
        if isinstance(event, Relayed):
            self.begun = True
            self.characters += event.characters
        else:
            self._note(event)
        return event

    def _hear(self) -> None:
        """Keep what the provider told at the head of the answer, nothing if there was no head."""
        if self._request.role in _ANSWERS:
            head = self.head()
            told = Heard(head.status, head.headers, head.body, head.mask.text) if head else None
            self._channel.ledger.heard = told

    def _note(self, event: Event) -> None:
        match event:
            case TextDelta() | ThinkingDelta() | RefusalDelta():
                self.begun = True
                self.characters += len(event.text)
                if isinstance(event, ThinkingDelta):
                    self.thought += len(event.text)
            case ToolCallDelta():
                self.begun = True
                self.characters += len(event.arguments)
            case UsageReported():
                self.usage, self.told = event.usage, event.charged
                self.mode = event.mode or self.mode
            case Warned():
                self._channel.ledger.record(event)
            case Finished():
                self._finished()
            case Started() | Note():
                pass
            case _:
                self.begun = True

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, GatewayError):
            self.outcome = _outcome(error)
        if isinstance(error, UpstreamFailed):
            error.provider = self._channel.target.provider
            if error.said.usage:
                self.usage, self.counted = error.said.usage, True

    def _finished(self) -> None:
        self.whole, step = True, self._request.journaled
        if step:  # its run is told what the row will say
            self._weighed = self._channel.ledger.weighed[step] = self._weigh("ok")

    def _weigh(self, outcome: str) -> Weighed:
        target, price = self._channel.target, self._channel.price
        if self.is_unsent():
            free = charged(_NOTHING, price, at=self._started_at) or UNSENT
            return Weighed(_NOTHING, estimated=False, guessed=False, owed=free)
        usage, estimated = _usage(self._request, self, outcome)
        guessed = bool(self.thought) and not usage.reasoning_tokens
        if guessed:
            reasoning = estimate.reasoning_tokens(self.thought, usage)
            usage = replace(usage, reasoning_tokens=reasoning)
        if price is not None and price.image and not usage.is_nothing:
            usage = replace(usage, images=estimate.images(self._request, price))
        told = self.told if target.bills and not estimated else None
        owed = charged(usage, price, self.mode, told, at=self._started_at)
        return Weighed(usage, estimated, guessed, owed)

    def _record(self) -> None:
        ledger, target, price = self._channel.ledger, self._channel.target, self._channel.price
        outcome = self.outcome or _CANCELLED[ledger.client_left]
        usage, estimated, guessed, owed = self._weighed or self._weigh(outcome)
        self.row = CallFinished(
            model=target.name,
            provider=target.provider,
            role=self._request.role,
            step=self._request.step,
            usage=usage,
            estimated=estimated,
            cost=None if owed is None else owed.cost,
            cost_source="unknown" if owed is None else owed.source,
            outcome=outcome,
            started_at=self._started_at,
            seconds=perf_counter() - self._started,
            first_s=self.first_s,
            reasoning_estimated=guessed,
            lease=self.lease,
            price=None if owed is None else owed.price or None,
            caveats=() if owed is None else owed.caveats,
            held_s=self.held_s,
            span=self.span,
            output_cost=output_part(owed.cost, usage, price) if owed and price else None,
        )
        ledger.record(self.row)


def _usage(request: Request, seen: MeteredCall, outcome: str) -> tuple[Usage, bool]:
    """Return the tokens used, and whether they were guessed.

    A call that failed before its answer began used none. One that was cancelled by then was
    sent, and its input is paid for. An answer with content that is said to have used nothing was
    not counted; one that came to its end was counted to its end. Where a count was told that none
    can be, tokens are as many as were counted, or as are likely if that is more.
    """
    told = seen.usage
    if told is not None and told.is_nothing and seen.begun:
        told = None
    faulty = told is not None and told.faulty
    if told is not None and not faulty and (outcome == "ok" or seen.counted or seen.whole):
        return told, False
    if not seen.begun and not faulty and outcome not in _CANCELLED:
        return _NOTHING, False
    known = told or Usage(input_tokens=estimate.input_tokens(request))
    if faulty:
        read = max(known.input_tokens, estimate.input_tokens(request))
        known = replace(known, input_tokens=read, faulty=False)
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
