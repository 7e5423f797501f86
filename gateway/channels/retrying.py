"""Sends a request again, as long as nothing of an answer has been passed on."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from random import Random  # noqa: TID251 - the type; the dice come from the wiring
from types import TracebackType
from typing import Final

import anyio

from techniques.core.channel import Channel, EventStream
from techniques.core.errors import CapReached, HeldBack, UpstreamFailed
from techniques.core.events import Event
from techniques.core.request import Request

_REFUSED: Final = 4


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how soon to try again.

    The wait before retry n (from 0) is drawn from ``backoff_s`` · 2^n · [1/2, 1], or what the
    provider asked for if that is longer. A provider that asks for more than ``max_wait_s`` is not
    tried again, nor one after whose wait the client would not listen any more: it gives up
    ``reads_s`` after the first attempt began. ``paced``: what was refused by a rate limit for a
    time that was told is tried again at once, for it is held back until then: the patience for that
    bounds it, and so often that it is four times ``retries``, as long as that limit lets anybody
    through. Why so: ``docs/decisions/0033-a-limit-that-lets-nobody-through-is-told.md``.

    Source: Brooker 2015, "Exponential Backoff And Jitter" (equal jitter).
    """

    retries: int = 2
    backoff_s: float = 0.5
    max_wait_s: float = 60.0
    paced: bool = False
    reads_s: float = math.inf

    def less(self, tried: int, most: int | None, reads_s: float | None = None) -> RetryPolicy:
        """Return this policy for who has *tried* before, and wants *most* retries if it says so."""
        left = max(self.retries - tried, 0)
        left = left if most is None else min(left, most)
        if reads_s is None or reads_s > left * self.max_wait_s:  # which bounds it as well
            reads_s = self.reads_s
        if (left, reads_s) == (self.retries, self.reads_s):
            return self
        return replace(self, retries=left, reads_s=reads_s)


class RetryingChannel:
    """Retries what the provider calls retryable.

    *retried* is told of each failure that is tried again. With *leaves_after_s* a call can go
    elsewhere, and what a rate limit would keep for longer in all is given back: a limit that asks
    for a moment again and again is as full as one that asks for a minute. Where *hopeless* says so,
    what a rate limit refuses is not tried again: it lets nobody through.
    """

    def __init__(  # noqa: PLR0913 - what there is to know of a limit
        self,
        inner: Channel,
        policy: RetryPolicy,
        random: Random,
        retried: Callable[[UpstreamFailed], None],
        *,
        leaves_after_s: float | None = None,
        hopeless: Callable[[], bool] = lambda: False,
    ) -> None:
        self._inner = inner
        self._policy = policy
        self._random = random
        self._retried = retried
        self._leaves_after_s = leaves_after_s
        self._hopeless = hopeless

    def open(self, request: Request) -> EventStream:
        """Send *request*, again if entering the stream fails."""
        return _Attempts(self, request)

    async def entered(self, request: Request) -> tuple[EventStream, AsyncIterator[Event]]:
        """Return the first call of which the answer has begun, and its events."""
        call, failed, refused = self._inner.open(request), 0, 0
        leaves_at, heard_until = self._leaves_at(), anyio.current_time() + self._policy.reads_s
        while True:
            try:
                return call, await call.__aenter__()
            except UpstreamFailed as error:
                failure, held = error, self._is_held(error)
                wait = self._wait(failed, error.retry_after)
                failed, refused = failed + (not held), refused + held
                if (
                    not error.retryable
                    or self._enough(failed, refused)
                    or not self._worth(wait, heard_until)
                ):
                    raise
                if held and self._hopeless():
                    raise
            if held and anyio.current_time() + (failure.retry_after or 0.0) > leaves_at:
                raise HeldBack(failure.message, retry_after=failure.retry_after) from failure
            if not held:
                await anyio.sleep(wait)
            call = self._again(request, failure)

    def _leaves_at(self) -> float:
        after_s = self._leaves_after_s
        return math.inf if after_s is None else anyio.current_time() + after_s

    def _enough(self, failed: int, refused: int) -> bool:
        retries = self._policy.retries
        return failed > retries or refused > _REFUSED * retries

    def _is_held(self, error: UpstreamFailed) -> bool:
        return self._policy.paced and error.kind == "rate_limited" and bool(error.retry_after)

    def _again(self, request: Request, failure: UpstreamFailed) -> EventStream:
        """Return another call after *failure*, which stands if the caps leave none."""
        try:
            call = self._inner.open(request)
        except CapReached:
            raise failure from None
        self._retried(failure)
        return call

    def _wait(self, attempt: int, asked: float | None) -> float:
        drawn = self._policy.backoff_s * float(2**attempt) * (0.5 + self._random.random() / 2)
        return max(drawn, asked or 0.0)

    def _worth(self, wait: float, heard_until: float) -> bool:
        """Return whether the wait is allowed, and ends before the time for the whole call does.

        And while the client still listens.
        """
        ends = anyio.current_time() + wait
        last = min(heard_until, anyio.current_effective_deadline())
        return wait <= self._policy.max_wait_s and ends < last


class _Attempts:
    """One call, with what it takes to get it begun."""

    __slots__ = ("_call", "_channel", "_request")

    _call: EventStream

    def __init__(self, channel: RetryingChannel, request: Request) -> None:
        self._channel = channel
        self._request = request

    async def __aenter__(self) -> AsyncIterator[Event]:
        self._call, events = await self._channel.entered(self._request)
        return events

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._call.__aexit__(kind, error, trace)
