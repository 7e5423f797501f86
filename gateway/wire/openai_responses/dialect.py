"""The dialect: what a server of this API does with a call."""

from __future__ import annotations

from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.openai_responses.encode import ResponseEncoder
from gateway.wire.openai_responses.failure import failure
from gateway.wire.openai_responses.fields import NAME
from gateway.wire.openai_responses.head import call_of
from gateway.wire.openai_responses.whole import whole
from gateway.wire.returned import returned
from gateway.wire.sse import EVENT_STREAM
from techniques.core.errors import GatewayError
from techniques.core.json import JsonObject
from techniques.core.reply import Reply


class OpenAIResponses:
    """``POST /v1/responses``."""

    name = NAME
    stream_type = EVENT_STREAM

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for."""
        return returned(call_of(body, raw), raw)

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Return a fresh encoder for one streamed response."""
        return ResponseEncoder(call, request_id, model)

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Return a ``response`` object."""
        return whole(call, reply, summary)

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return failure(error)
