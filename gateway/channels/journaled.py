"""Has each sub-call of a run written down before it is sent, and answered from there after that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from types import TracebackType

from gateway.channels.continued import Growing, can_continue, continued
from gateway.metering import estimate
from gateway.metering.caps import RunAllowance
from gateway.metering.heard import Answering
from gateway.policy.models import Model
from gateway.runs.events import packed, unpacked
from gateway.runs.live import LiveRun
from gateway.runs.terms import Sending, Stop, error_of, is_limit, kind_of
from gateway.stores.journal.records import StepRecord
from gateway.upstream.head import Head, Headed
from techniques.core.channel import Channel, EventStream
from techniques.core.errors import GatewayError, HeldBack, StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Started, TextDelta, Warned
from techniques.core.request import Request


class JournaledChannel:
    """A channel whose calls are steps of *run*.

    *whom* is its name within the run, and the model; *allowance* is to know what a settled step
    had cost.
    """

    def __init__(
        self,
        inner: Channel,
        run: LiveRun,
        whom: tuple[str, Model],
        allowance: RunAllowance | None = None,
    ) -> None:
        self.inner = inner
        self.run = run
        self.member, self.model = whom
        self.allowance = allowance

    def open(self, request: Request) -> EventStream:
        """Answer *request* from the journal, or send it."""
        return _Step(self, request, self.run.path(self.member, request))


class _Step:
    """One step: settled, then its events come from the journal; or sent, and written down."""

    __slots__ = (
        "_begun",
        "_call",
        "_channel",
        "_events",
        "_growing",
        "_kept",
        "_path",
        "_request",
        "_settled",
        "_stored",
    )

    _events: AsyncIterator[Event]
    _stored: Iterator[Event]

    def __init__(self, channel: JournaledChannel, request: Request, path: str) -> None:
        self._channel = channel
        self._request = request
        self._path = path
        self._call: EventStream | None = None
        self._kept: list[Event] = []
        self._growing: Growing | None = None
        self._begun: list[Event] = []
        self._settled = False

    async def __aenter__(self) -> AsyncIterator[Event]:
        channel, run, path = self._channel, self._channel.run, self._path
        doubtful = run.is_doubtful(path)
        step = await run.ask(path, self._request, channel.model.name)
        if doubtful:  # and it is made again
            run.wasted(estimate.cost_of(self._request, channel.model.price))
        if step.state in ("completed", "failed"):
            return await self._replay(step)
        try:
            self._events = await self._sent(step)
        except GatewayError as error:
            await self._fail(error)
            raise
        except BaseException:
            await run.dropped(path)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        run = self._channel.run
        if self._call is None:
            run.order.heard(self._path)
            return
        try:
            await self._call.__aexit__(kind, error, trace)
        finally:
            if not self._settled:
                self._keep_begun()
                await run.dropped(self._path)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._call is None:
            return await self._next_stored()
        try:
            event = await self._next_heard()
        except StopAsyncIteration:
            if not self._settled:
                await self._fail(StreamBroken("The answer ended before the model finished."))
            raise
        except GatewayError as error:
            await self._fail(error)
            raise
        self._kept.append(event)
        if isinstance(event, Finished):
            await self._complete()
        elif self._growing is not None and self._growing.take(event):
            await self._channel.run.heard_so_far(self._path, self._growing.text)
        return event

    async def _sent(self, step: StepRecord) -> AsyncIterator[Event]:
        """Send the call; where an answer to it broke off that can be gone on with, the rest of it.

        A model that refuses to go on with one is asked anew.
        """
        request, channel = replace(self._request, journaled=self._path), self._channel
        if not channel.run.continues:
            return await self._open(request)
        full = request.decoded()
        if not can_continue(full, channel.model.target.capabilities):
            return await self._open(request)
        begun = (step.partial or "").rstrip()
        if begun:
            try:
                events = await self._open(continued(full, begun))
            except UpstreamFailed as error:
                if error.kind != "rejected":
                    raise
            else:
                self._growing, self._begun = Growing(), [TextDelta(begun)]
                channel.run.ledger.record(Warned("answer_continued", self._path))
                return events
        step.partial = None
        self._growing = Growing()
        return await self._open(full)

    async def _open(self, request: Request) -> AsyncIterator[Event]:
        self._call = self._channel.inner.open(request)
        return await self._call.__aenter__()

    async def _next_heard(self) -> Event:
        """Return the next event of the call; what was said before it broke off comes first."""
        if self._begun and self._kept:
            return self._begun.pop(0)
        event = await self._events.__anext__()
        if self._begun and not isinstance(event, Started):
            self._begun.append(event)
            return self._begun.pop(0)
        return event

    async def _complete(self) -> None:
        run = self._channel.run
        step = run.steps[self._path]
        weighed = run.ledger.weighed.pop(self._path, None)
        if weighed is not None:
            step.tokens, step.cost = weighed.counted, weighed.cost
        step.state, step.events, step.partial = "completed", packed(self._kept), None
        self._settled = True
        await run.settle(self._path)

    async def _fail(self, error: GatewayError) -> None:
        """Write a failure down; at a limit the run is put away, and this does not return."""
        run, path = self._channel.run, self._path
        if isinstance(error, HeldBack) and is_limit(error) and run.suspends:
            await run.stop(Stop("suspended", error))
        self._settled = True
        self._keep_begun()
        step = run.steps[path]
        step.state, step.error = "failed", kind_of(error)
        await run.settle(path)

    def _keep_begun(self) -> None:
        if self._growing is not None and self._kept:
            self._channel.run.steps[self._path].partial = self._growing.text or None

    async def _replay(self, step: StepRecord) -> AsyncIterator[Event]:
        channel, run = self._channel, self._channel.run
        if channel.allowance is not None and step.of is None:
            channel.allowance.repeat(max(step.attempts, 1), step.cost)
        if step.state == "failed":
            await run.order.turn(self._path)
            run.order.heard(self._path)
            raise error_of(step)
        run.replayed(step)
        if self._request.role == "answer" and step.model:
            run.ledger.answering = Answering(step.model, step.provider, step.shown)
        self._stored = iter(unpacked(step.events or "[]"))
        return self

    async def _next_stored(self) -> Event:
        """Return the next event that the journal has; the last one in its turn."""
        run = self._channel.run
        event = next(self._stored, None)
        if event is None:
            run.order.heard(self._path)
            raise StopAsyncIteration
        if isinstance(event, Warned):
            run.ledger.record(event)
        elif isinstance(event, Finished):
            await run.order.turn(self._path)
            run.order.heard(self._path)
        return event


class DispatchedChannel:
    """A channel to *model* that sends a call of a run once it is written down that it will be."""

    __slots__ = ("inner", "model", "run")

    def __init__(self, inner: Channel, model: Model, run: LiveRun) -> None:
        self.inner = inner
        self.model = model
        self.run = run

    def open(self, request: Request) -> EventStream:
        """Send *request*, when the journal has it."""
        return _Dispatched(self, request)


class _Dispatched(Headed):
    __slots__ = ("_call", "_channel", "_request")

    _call: EventStream

    def __init__(self, channel: DispatchedChannel, request: Request) -> None:
        self._channel = channel
        self._request = request

    def head(self) -> Head | None:
        """Return the head of the answer, as far as one has come."""
        call = getattr(self, "_call", None)  # there is none before it may be sent
        return call.head() if isinstance(call, Headed) else None

    def is_unsent(self) -> bool:
        """Return whether it is sure that nothing was sent; what is not written down is not."""
        call = getattr(self, "_call", None)
        return call is None or (isinstance(call, Headed) and call.is_unsent())

    async def __aenter__(self) -> AsyncIterator[Event]:
        run, path, model = self._channel.run, self._request.journaled, self._channel.model
        target = model.target
        sending = Sending(target.name, target.provider, target.shown)
        known_by = await run.dispatched(path, sending)
        self._call = self._channel.inner.open(replace(self._request, journaled=known_by))
        try:
            return await self._call.__aenter__()
        except GatewayError:
            await run.refused(path)
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._call.__aexit__(kind, error, trace)
