"""OpenAI's API for embeddings."""

from __future__ import annotations

from typing import Final, NoReturn

from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.openai_chat.failure import failure
from gateway.wire.openai_chat.fields import integer, required, text, wrong
from gateway.wire.openai_chat.head import parted
from gateway.wire.sse import EVENT_STREAM
from techniques.core.errors import GatewayError, RequestRejected
from techniques.core.json import Json, JsonObject
from techniques.core.relayed import EMBEDDINGS
from techniques.core.reply import Reply
from techniques.core.request import Relay

_FORMS: Final = ("float", "base64")
_INPUT: Final = "a text, a list of texts, a list of tokens, or a list of such lists"


class OpenAIEmbeddings:
    """``POST /v1/embeddings``. The answer is the provider's own: nothing here writes one."""

    name = EMBEDDINGS
    stream_type = EVENT_STREAM

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for."""
        model = required(body, "model")
        if not is_input(body.get("input")):
            raise wrong("input", f"{_INPUT}, and not empty")
        if body.get("encoding_format") not in (None, *_FORMS):
            raise wrong("encoding_format", " or ".join(_FORMS))
        integer(body, "dimensions", 1)
        text(body, "user")
        wishes, body, kept = parted(body, raw)
        relay = Relay(EMBEDDINGS, kept, body, _spell)
        return Call(EMBEDDINGS, model, streamed=False, relay=relay, wishes=wishes)

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Refuse: there are no streams of embeddings."""
        raise NotImplementedError

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Refuse: what came is passed on."""
        raise NotImplementedError

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return failure(error)


def is_input(given: Json) -> bool:
    """Return whether *given* is one input, or a list of inputs of one kind."""
    if isinstance(given, str):
        return bool(given)
    if not isinstance(given, list) or not given:
        return False
    kinds = set(map(type, given))
    if kinds != {list}:
        return kinds in ({str}, {int})
    return all(one and set(map(type, one)) == {int} for one in given)


def _spell() -> NoReturn:
    raise RequestRejected(
        "The model answers conversations, and has no embeddings.",
        code="unsupported_endpoint",
        param="model",
    )
