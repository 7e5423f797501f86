"""Where calls will be held back until their account can take them.

Until there is rate-limit state to decide by, every call is admitted at once.
"""

from __future__ import annotations

from techniques.core.channel import Channel, EventStream
from techniques.core.request import Request


class AdmittedChannel:
    """A channel that lets every call through."""

    def __init__(self, inner: Channel) -> None:
        self._inner = inner

    def open(self, request: Request) -> EventStream:
        """Send *request* on."""
        return self._inner.open(request)
