"""Embeddings: asked of providers in OpenAI's words, and told in Ollama's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Final, NoReturn

import orjson

from gateway.wire.dialect import Call, Encoder, Failure, Summary
from gateway.wire.ollama.common import lockgate, spent
from gateway.wire.ollama.failure import failure
from gateway.wire.ollama.fields import model_of
from gateway.wire.openai_chat.fields import Fields, integer, text, wrong
from gateway.wire.openai_chat.head import parted
from techniques.core.errors import GatewayError, RequestRejected, Said, UpstreamFailed
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.relayed import EMBEDDINGS
from techniques.core.reply import Reply
from techniques.core.request import Relay

_AT_ONCE: Final = 32
"""Vectors that are handed on in one piece: some hundred kilobytes."""
_VECTOR: Final = re.compile(rb'"embedding"\s*:\s*(?=\[)')


class OllamaEmbed:
    """``POST /api/embed``. A provider's answer is written anew, with its vectors as they came."""

    name = "ollama_embed"
    stream_type = b"application/x-ndjson"

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body* asks for; *raw* is in other words than providers get."""
        del raw
        given = body.get("input")
        listed = given if isinstance(given, list) else [given]
        if given is not None and not all(isinstance(one, str) for one in listed):
            raise wrong("input", "a text or a list of texts")
        return self._call(body, given, {"dimensions": integer(body, "dimensions") or None})

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Refuse: there are no streams of embeddings."""
        raise NotImplementedError

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Return the answer to who gave nothing to embed."""
        del reply
        return b"".join(self._written(call.relay.body, (), summary))

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        return failure(error)

    def _call(self, body: JsonObject, given: Json, more: Fields) -> Call:
        """Return the call for embeddings of what is *given*; who gives nothing asks nothing."""
        seen: Fields = {"model": model_of(body), "input": given or [], **more}
        wishes, _, _ = parted(body, b"")
        return Call(
            EMBEDDINGS,
            model_of(body),
            streamed=False,
            relay=Relay(EMBEDDINGS, None, seen, _spell),
            wishes=wishes,
            idle=not given,
            rewrite=partial(self._rewritten, seen),
        )

    def _rewritten(self, asked: Fields, pieces: Sequence[bytes], summary: Summary) -> list[bytes]:
        """Return the answer that *pieces* are together, as this dialect has it.

        Raises:
            UpstreamFailed: Its vectors are no lists of numbers.
        """
        try:
            vectors = vectors_of(b"".join(pieces))
        except (ValueError, LookupError, TypeError):
            said = Said(code="upstream_invalid_response")
            why = "The provider's answer has an embedding that is not all numbers."
            raise UpstreamFailed(why, "invalid_answer", said=said) from None
        return list(self._written(asked, vectors, summary))

    def _written(
        self, asked: Fields, vectors: Sequence[bytes], summary: Summary
    ) -> Iterator[bytes]:
        """Yield the answer with *vectors*, which are JSON."""
        told = {**spent(summary), "prompt_eval_count": summary.usage.input_tokens}
        yield b'{"model":' + orjson.dumps(asked["model"]) + b',"embeddings":['
        for first in range(0, len(vectors), _AT_ONCE):
            group = vectors[first : first + _AT_ONCE]
            yield b",".join((b"", *group) if first else group)
        yield b"]," + orjson.dumps({**told, **lockgate(summary)})[1:]


class OllamaEmbeddings(OllamaEmbed):
    """``POST /api/embeddings``, as it was before ``/api/embed``: one text, one vector."""

    name = "ollama_embeddings"

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body* asks for."""
        del raw
        return self._call(body, text(body, "prompt"), NOTHING)

    def _written(
        self, asked: Fields, vectors: Sequence[bytes], summary: Summary
    ) -> Iterator[bytes]:
        """Yield the answer with the one of *vectors*."""
        del asked, summary
        yield b'{"embedding":' + next(iter(vectors), b"[]") + b"}"


def vectors_of(answer: bytes) -> list[bytes]:
    """Return the vectors of a provider's *answer* in the order of what was given, as JSON.

    Their numbers are not read: they are nearly all of an answer, which may have megabytes.
    """
    frame: list[bytes] = []
    vectors: list[bytes] = []
    at = 0
    while found := _VECTOR.search(answer, at):
        end = answer.index(b"]", found.end()) + 1
        frame += (answer[at : found.end()], b"%d" % len(vectors))
        vectors.append(answer[found.end() : end])
        at = end
    rows = orjson.loads(b"".join((*frame, answer[at:])))["data"]
    if not all(isinstance(row.get("index"), int) for row in rows):
        return [vectors[row["embedding"]] for row in rows]
    return [vectors[row["embedding"]] for row in sorted(rows, key=itemgetter("index"))]


def _spell() -> NoReturn:
    raise RequestRejected(
        "The model answers conversations, and has no embeddings.",
        code="unsupported_endpoint",
        param="model",
    )
