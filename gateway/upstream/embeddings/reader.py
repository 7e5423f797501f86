"""Reads an answer with embeddings: passed on as it came, unless it is in the other form."""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from gateway.upstream.embeddings.batches import count_of
from gateway.upstream.embeddings.call import form_of
from gateway.upstream.embeddings.sheet import Scanner, Sheet
from gateway.upstream.openai.failure import is_error, reported, unreadable
from gateway.upstream.openai.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_chat.payload import usage_of
from pricing.usage import Usage
from techniques.core.events import Event, Finished, Relayed, Started, UsageReported
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay


class EmbeddingsReader:
    """Collects one answer to what *relay* asks for."""

    def __init__(self, relay: Relay) -> None:
        self._scanner = Scanner(form_of(relay))
        self._wanted = count_of(relay.body.get("input"))

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Collect *chunk*."""
        self._scanner.feed(chunk)
        return iter(())

    def end(self) -> Iterator[Event]:
        """Yield the whole answer.

        Raises:
            UpstreamFailed: It is none, it reports a failure, or it has not a vector for each input.
        """
        if self._scanner.cut:
            raise unreadable("is not JSON")
        sheet = self._scanner.sheet()
        answer = self._checked(sheet)
        yield Started(model=as_text(answer.get("model")))
        for piece in self._scanner.pieces():
            yield Relayed(piece)
        usage = used(answer)
        if usage is not None:
            yield UsageReported(usage)
        yield Finished()

    def _checked(self, sheet: Sheet) -> JsonObject:
        try:
            answer = self._value(sheet)
        except ValueError:
            raise unreadable("is not JSON") from None
        if not isinstance(answer, dict):
            raise unreadable("is not a JSON object")
        usage = used(answer)
        if is_error(answer):
            raise reported(answer, usage)
        rows = [row for row in as_list(answer.get("data")) if "embedding" in as_object(row)]
        if len(rows) != self._wanted:
            raise unreadable(f"has {len(rows)} embeddings for {self._wanted} inputs", usage)
        if not sheet.finite or len(sheet.vectors) < self._wanted:
            raise unreadable("has an embedding that is not all numbers", usage)
        return answer

    def _value(self, sheet: Sheet) -> Json:
        try:
            return sheet.value()
        except ValueError:
            if not sheet.vectors:
                raise
            # its vectors are none that can be told by their ends
            return orjson.loads(b"".join(self._scanner.pieces()))


def used(answer: JsonObject) -> Usage | None:
    """Return the tokens that *answer* counts; some hosts tell only the total."""
    told = as_object(answer.get("usage"))
    if "prompt_tokens" not in told and "total_tokens" in told:
        told = {**told, "prompt_tokens": told["total_tokens"]}
    return usage_of(told)
