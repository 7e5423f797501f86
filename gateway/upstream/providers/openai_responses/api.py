"""The provider: which reader and which writer a request gets."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.upstream.openai.calling import renamed
from gateway.upstream.openai.failure import failure
from gateway.upstream.provider import HttpCall, Reader, Target, provider
from gateway.upstream.providers.openai_responses.decode import DecodedStream, DecodedWhole
from gateway.upstream.providers.openai_responses.encode import encode, is_relayed
from gateway.upstream.providers.openai_responses.names import DIALECT
from gateway.upstream.providers.openai_responses.relay import RelayedStream, RelayedWhole
from gateway.upstream.stopping import stopping
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request


@provider
class OpenAIResponses:
    """The Responses API, streamed and whole."""

    dialect = DIALECT

    def authorization(self, api_key: str) -> Mapping[str, str]:
        """Return the bearer credential; none for a host without keys."""
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def encode(self, request: Request, target: Target) -> HttpCall:
        """Return the call that asks *target* for *request*."""
        return encode(request, target)

    def reader(self, request: Request, target: Target, *, streamed: bool) -> Reader:  # noqa: ARG002
        """Return a fresh reader for the answer to *request*."""
        if is_relayed(request) and streamed == request.stream:
            return RelayedStream() if streamed else RelayedWhole()
        reader = DecodedStream() if streamed else DecodedWhole()
        if is_relayed(request):
            return reader
        asked = request.decoded()
        return stopping(renamed(reader, asked), asked.sampling.stop)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means."""
        return failure(status, headers, body)
