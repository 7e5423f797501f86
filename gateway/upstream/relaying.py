"""What hosts of OpenAI's kind serve beside conversations: embeddings, and legacy completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.upstream.completions.call import encode as encode_completion
from gateway.upstream.completions.reader import CompletionStream, CompletionWhole, Unstreamed
from gateway.upstream.embeddings.call import encode as encode_embeddings
from gateway.upstream.embeddings.reader import EmbeddingsReader
from gateway.upstream.provider import HttpCall, Provider, Reader, Target
from techniques.core.errors import UpstreamFailed
from techniques.core.relayed import ALONE, EMBEDDINGS
from techniques.core.request import Request

_LIKE_OPENAI: Final = frozenset({"openai_chat", "openai_responses"})


def relaying(provider: Provider) -> Provider:
    """Return *provider*, with what else hosts of its dialect serve."""
    return Relaying(provider) if provider.dialect in _LIKE_OPENAI else provider


class Relaying:
    """A provider with its conversations as *inner* has them, and all else relayed."""

    def __init__(self, inner: Provider) -> None:
        self._inner = inner
        self.dialect = inner.dialect

    def authorization(self, api_key: str) -> Mapping[str, str]:
        """Return the headers that carry the account's credential."""
        return self._inner.authorization(api_key)

    def encode(self, request: Request, target: Target) -> HttpCall:
        """Return the call that asks *target* for *request*."""
        relay = request.relay
        if relay is None or relay.dialect not in ALONE:
            return self._inner.encode(request, target)
        if relay.dialect == EMBEDDINGS:
            return encode_embeddings(relay, target)
        return encode_completion(relay, target)

    def reader(self, request: Request, target: Target, *, streamed: bool) -> Reader:
        """Return a fresh reader for the answer to *request*."""
        relay = request.relay
        if relay is None or relay.dialect not in ALONE:
            return self._inner.reader(request, target, streamed=streamed)
        if relay.dialect == EMBEDDINGS:
            return EmbeddingsReader(relay)
        if not streamed:
            return CompletionWhole(relay, streamed=request.stream)
        return CompletionStream(relay) if request.stream else Unstreamed()

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means."""
        return self._inner.failure(status, headers, body)
