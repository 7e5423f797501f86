"""The provider's own API, put together."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.upstream.provider import HttpCall, Reader, Target, provider
from gateway.upstream.providers.anthropic.decode import StreamReader, WholeReader
from gateway.upstream.providers.anthropic.encode import encode_call
from gateway.upstream.providers.anthropic.failure import read_failure
from gateway.upstream.providers.anthropic.options import blank_stops
from gateway.upstream.providers.anthropic.relay import (
    StreamRelay,
    WholeRelay,
    encode_relay,
    is_relayed,
)
from gateway.upstream.stopping import stopping
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request


@provider
class Anthropic:
    """Anthropic's Messages API, towards a provider."""

    dialect = "anthropic"

    def authorization(self, api_key: str) -> Mapping[str, str]:
        """Return the header that carries the key."""
        return {"x-api-key": api_key}

    def encode(self, request: Request, target: Target) -> HttpCall:
        """Return the call that asks *target* for *request*.

        Raises:
            RequestRejected: The request needs a feature that the target does not have, or it is
                ``strict`` and something of it would be lost.
        """
        if is_relayed(request):
            return encode_relay(request, target)
        return encode_call(request.decoded(), target)

    def reader(self, request: Request, target: Target, *, streamed: bool) -> Reader:  # noqa: ARG002
        """Return a fresh reader for the answer to *request*."""
        if is_relayed(request) and streamed == request.stream:
            return StreamRelay() if streamed else WholeRelay()
        spoken = request.dialect if request.relay is None else request.relay.dialect
        foreign = spoken != self.dialect
        reader = StreamReader(foreign=foreign) if streamed else WholeReader(foreign=foreign)
        if is_relayed(request):
            return reader
        return stopping(reader, blank_stops(request.decoded().sampling))

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means."""
        return read_failure(status, headers, body)
