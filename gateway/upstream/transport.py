"""What carries a call to a provider: a network, or a simulation of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway.upstream.provider import HttpCall
from gateway.upstream.redact import Mask


class Response(Protocol):
    """An answer whose head has come; whoever asked for it closes it."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers; names are lower case."""
        ...

    async def read(self) -> bytes:
        """Return the next bytes of the body as they arrived, ``b""`` at its end.

        Raises:
            UpstreamFailed: Of kind ``transport``: the connection broke before the end; of kind
                ``timeout``: nothing came for as long as was allowed; of kind ``invalid_answer``:
                what comes is no body any more, without end. All retryable.
        """
        ...

    def wait_until(self, moment: float) -> None:
        """Wait for bytes until *moment* (of ``time.monotonic``) and no longer, whatever comes.

        Bytes alone move nothing: only who reads them knows whether something was said.
        """
        ...

    def close(self) -> None:
        """End the call: the connection is closed, or used again if the body was read to its end."""
        ...


class Transport(Protocol):
    """Carries calls to one account."""

    @property
    def mask(self) -> Mask:
        """What takes the account's credentials out of a text."""
        ...

    async def post(self, call: HttpCall, until: float) -> Response:
        """Send *call* and return its answer when the head has come.

        It is waited for until *until* (of ``time.monotonic``), see ``Response.wait_until``.

        Raises:
            UpstreamFailed: Of kind ``transport``, ``timeout`` or, of a head without end,
                ``invalid_answer``; retryable.
        """
        ...
