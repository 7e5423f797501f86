"""The dialect of ``POST /v1/messages``."""

from __future__ import annotations

from hashlib import sha256

from gateway.wire.anthropic.encode import MessageEncoder
from gateway.wire.anthropic.failure import encode_failure
from gateway.wire.anthropic.head import DIALECT, decode_call
from gateway.wire.anthropic.whole import message_body
from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.returned import returned
from gateway.wire.sse import EVENT_STREAM
from techniques.core.errors import GatewayError
from techniques.core.json import JsonObject
from techniques.core.reply import Reply


class AnthropicMessages:
    """Anthropic's Messages API, towards clients."""

    name = DIALECT
    stream_type = EVENT_STREAM

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for.

        Raises:
            RequestRejected: *body* is not a request of this dialect.
        """
        return returned(decode_call(body, raw), raw)

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:  # noqa: ARG002
        """Return a fresh encoder for one streamed message; *model* is named in it."""
        return MessageEncoder(request_id, model)

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Return the JSON body of a message that is not streamed."""
        return message_body(reply, summary, reply.model or call.model, _made_id(reply))

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return encode_failure(error)


def _made_id(reply: Reply) -> str:
    """Return what names *reply* where its provider gave no id of this dialect."""
    return reply.id or sha256(repr(reply.parts).encode()).hexdigest()[:24]
