"""Keeps a run within the caps that were set for it."""

from __future__ import annotations

from gateway.metering.caps import RunAllowance
from techniques.core.channel import Channel, EventStream
from techniques.core.request import Request


class CappedChannel:
    """A channel that opens no call beyond the allowance."""

    def __init__(self, inner: Channel, allowance: RunAllowance) -> None:
        self._inner = inner
        self._allowance = allowance

    def open(self, request: Request) -> EventStream:
        """Send *request* on, if one more call fits.

        Raises:
            CapReached: It does not.
        """
        self._allowance.take()
        return self._inner.open(request)
