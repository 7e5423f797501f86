"""The dialect: what a server of this API does with a call."""

from __future__ import annotations

from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.ollama.encode import LineEncoder
from gateway.wire.ollama.failure import failure
from gateway.wire.ollama.fields import GENERATE, NAME
from gateway.wire.ollama.head import chat_call, generate_call
from gateway.wire.ollama.shape import Chat, Generate, Shape
from gateway.wire.ollama.whole import whole
from gateway.wire.returned import returned
from techniques.core.errors import GatewayError
from techniques.core.json import JsonObject
from techniques.core.reply import Reply


class OllamaChat:
    """``POST /api/chat``."""

    name = NAME
    stream_type = b"application/x-ndjson"
    shape: Shape = Chat()

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for."""
        return returned(chat_call(body, raw), raw)

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Return a fresh encoder for one streamed response; it has no place for an id."""
        del request_id, model
        return LineEncoder(call, self.shape)

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Return the one object of an answer that is not streamed."""
        return whole(call, reply, summary, self.shape)

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return failure(error)


class OllamaGenerate(OllamaChat):
    """``POST /api/generate``."""

    name = GENERATE
    shape: Shape = Generate()

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for."""
        return generate_call(body, raw)
