"""What carries a call to a provider: a network, or a simulation of one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gateway.upstream.provider import HttpCall


class Response(Protocol):
    """An answer whose head has come. ``headers`` have lower-case names."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; look-ups ignore case."""
        ...

    def chunks(self) -> AsyncGenerator[bytes, None]:
        """Return the body as it arrives; bytes of one chunk are never held back for the next.

        Raises:
            UpstreamFailed: Of kind ``transport``: the connection broke before the end.
        """
        ...


class Transport(Protocol):
    """Carries calls to one account."""

    def post(self, call: HttpCall) -> AbstractAsyncContextManager[Response]:
        """Send *call*; leaving the context ends it, and closes the connection if bytes are left.

        Raises:
            UpstreamFailed: Of kind ``transport``, or ``timeout`` when no connection was made
                in time; both retryable.
        """
        ...
