"""The provider: which reader and which writer a request gets."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.upstream.openai.calling import renamed
from gateway.upstream.openai.failure import failure
from gateway.upstream.provider import HttpCall, Reader, Target, provider
from gateway.upstream.providers.openai_chat.decode import DecodedStream, DecodedWhole
from gateway.upstream.providers.openai_chat.encode import encode, is_relayed
from gateway.upstream.providers.openai_chat.payload import DIALECT
from gateway.upstream.providers.openai_chat.relay import RelayedStream, RelayedWhole
from gateway.upstream.providers.openai_chat.stops import parted
from gateway.upstream.providers.openai_chat.tags import tags_of
from gateway.upstream.stopping import stopping
from techniques.core.errors import UpstreamFailed
from techniques.core.request import Request


@provider
class OpenAIChat:
    """Chat completions, streamed and whole."""

    dialect = DIALECT

    def authorization(self, api_key: str) -> Mapping[str, str]:
        """Return the bearer credential; none for a host without keys."""
        return {"authorization": f"Bearer {api_key}"} if api_key else {}

    def encode(self, request: Request, target: Target) -> HttpCall:
        """Return the call that asks *target* for *request*."""
        return encode(request, target)

    def reader(self, request: Request, target: Target, *, streamed: bool) -> Reader:
        """Return a fresh reader; where tags are to be split, even a relayed answer is decoded."""
        choices = _choices(request)
        split = target.split_thinking and choices == 1
        if is_relayed(request) and streamed == request.stream and not split:
            if not streamed:
                return RelayedWhole()
            asked = request.relay is not None and request.relay.include_usage
            return RelayedStream(include_usage=asked, choices=choices)
        tags = tags_of(request, target) if choices == 1 else None
        reader = DecodedStream(tags) if streamed else DecodedWhole(tags)
        if is_relayed(request):
            return reader
        full = request.decoded()
        native = full.dialect in {"", self.dialect}
        stops = () if native else parted(full.sampling.stop, target)[1]
        return stopping(renamed(reader, full), stops)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means."""
        return failure(status, headers, body)


def _choices(request: Request) -> int:
    n = request.relay.body.get("n") if request.relay is not None else None
    return n if isinstance(n, int) and n > 1 else 1
