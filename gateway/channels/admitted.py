"""Holds a call back until its account can take it and its caller can pay for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType

from gateway.channels.metered import MeteredCall, MeteredChannel
from gateway.pacing.lease import Lease
from gateway.pacing.run import Run
from gateway.policy.models import Model
from techniques.core.channel import EventStream
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event
from techniques.core.request import Request


class AdmittedChannel:
    """A channel whose calls begin when *run* lets them through.

    With *moves* a call that would be held for long is given back at once: it can go elsewhere.
    """

    __slots__ = ("inner", "model", "moves", "run")

    def __init__(
        self, inner: MeteredChannel, model: Model, run: Run, *, moves: bool = False
    ) -> None:
        self.inner = inner
        self.model = model
        self.run = run
        self.moves = moves

    def open(self, request: Request) -> EventStream:
        """Send *request* once it may be sent; entering raises what ``Run.admit`` does."""
        return _Admitted(self, request)


class _Admitted:
    """One sub-call, and the lease that it holds."""

    __slots__ = ("_call", "_channel", "_lease", "_request")

    _call: MeteredCall
    _lease: Lease

    def __init__(self, channel: AdmittedChannel, request: Request) -> None:
        self._channel = channel
        self._request = request

    async def __aenter__(self) -> AsyncIterator[Event]:
        channel = self._channel
        self._lease = lease = await channel.run.admit(
            channel.model, self._request, moves=channel.moves
        )
        self._call = call = channel.inner.open(self._request)
        call.lease, call.held_s = lease.asking.lease, lease.asking.held_s
        try:
            events = await call.__aenter__()
        except BaseException as error:
            row = None if call.is_unsent() and not isinstance(error, UpstreamFailed) else call.row
            await lease.failed(error, row, call.head())
            raise
        lease.heard(call.head(), lasts=self._request.stream)
        lease.call = call
        return events

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        call = self._call
        try:
            await call.__aexit__(kind, error, trace)
        finally:
            if call.row is not None:
                self._lease.answered(call.row, call.head)
