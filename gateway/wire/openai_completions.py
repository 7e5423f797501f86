"""OpenAI's legacy API for completions: a text that a model goes on with."""

from __future__ import annotations

from typing import Final, NoReturn

from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.openai_chat.encode import ChunkEncoder
from gateway.wire.openai_chat.failure import failure
from gateway.wire.openai_chat.fields import flag, integer, required, thing, wrong
from gateway.wire.openai_chat.head import parted
from gateway.wire.openai_embeddings import is_input
from gateway.wire.sse import EVENT_STREAM
from techniques.core.errors import GatewayError, RequestRejected
from techniques.core.json import JsonObject
from techniques.core.relayed import COMPLETIONS
from techniques.core.reply import Reply
from techniques.core.request import Relay

_PROMPT: Final = "a text, a list of texts, a list of tokens, or a list of such lists"


class OpenAICompletions:
    """``POST /v1/completions``. The answer is the provider's own: nothing here writes one."""

    name = COMPLETIONS
    stream_type = EVENT_STREAM

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for."""
        model = required(body, "model")
        prompt = body.get("prompt")
        if prompt not in (None, "") and not is_input(prompt):
            raise wrong("prompt", _PROMPT)
        streamed = flag(body, "stream") or False
        for name, least in (("n", 1), ("best_of", 1), ("max_tokens", 0), ("logprobs", 0)):
            integer(body, name, least)
        options = thing(body, "stream_options") or {}
        include_usage = flag(options, "include_usage", "stream_options.") or False
        wishes, body, kept = parted(body, raw)
        relay = Relay(COMPLETIONS, kept, body, _spell, include_usage and streamed)
        return Call(COMPLETIONS, model, streamed, relay, relay.include_usage, wishes)

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Return what passes a stream on, and ends it as this API does."""
        return ChunkEncoder(call, request_id, model)

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Refuse: what came is passed on."""
        raise NotImplementedError

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return failure(error)


def _spell() -> NoReturn:
    raise RequestRejected(
        "The model answers conversations, and has no legacy completions.",
        code="unsupported_endpoint",
        param="model",
    )
