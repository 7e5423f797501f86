"""Reads answers into the neutral events: streams, and whole ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.upstream.openai.failure import is_error, reported, unreadable
from gateway.upstream.openai.payload import as_index, as_list, as_object, as_text, read
from gateway.upstream.providers.openai_chat.mend import NEUTRAL, Choice
from gateway.upstream.providers.openai_chat.payload import report_of, usage_of
from gateway.upstream.providers.openai_chat.speech import Speech
from gateway.upstream.providers.openai_chat.tags import Tags
from gateway.upstream.providers.openai_chat.whole import read_whole
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.untold import untold
from gateway.upstream.whole import Whole
from techniques.core.errors import StreamBroken
from techniques.core.events import Event, Finished, Started
from techniques.core.json import JsonObject

_HEADS: Final = ("moderation",)
"""What an answer tells of itself beside its choices, for which nobody else has a place."""


class DecodedStream:
    """Reads ``chat.completion.chunk`` objects; of several choices only the first."""

    def __init__(self, tags: Tags | None) -> None:
        self._sse = SseReader()
        self._speech = Speech(tags)
        self._choice = Choice()
        self._stop_text: str | None = None
        self._begun = False
        self._over = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes."""
        for event in self._sse.feed(chunk):
            yield from self._event(event)

    def end(self) -> Iterator[Event]:
        """Yield what was complete only with the end of the bytes."""
        if self._over:
            return
        last = parse(self._sse.rest())
        if last.data is not None and _is_whole(last.data):
            yield from self._event(last)
        if not self._over:
            yield from self._finish()

    def _event(self, event: SseEvent) -> Iterator[Event]:
        if self._over or event.data is None:
            return
        if event.data.strip() == b"[DONE]":
            if self._begun:  # which is an end, if one without a reason
                self._choice.reason = self._choice.reason or self._choice.called or "stop"
            yield from self._finish()
            return
        try:
            chunk, _ = read(event.data)
        except ValueError:
            raise unreadable("has an event that is not JSON") from None
        chunk = as_object(chunk)
        if event.name == "error" or is_error(chunk):
            raise reported(chunk, usage_of(chunk.get("usage")))
        yield from self._chunk(chunk)

    def _chunk(self, chunk: JsonObject) -> Iterator[Event]:
        for choice in as_list(chunk.get("choices")):
            if isinstance(choice, dict) and not as_index(choice.get("index")):
                if not self._begun:
                    self._begun = True
                    self._speech.answer_id = as_text(chunk.get("id"))
                    yield started(chunk)
                self._choice.mend_delta(choice)
                yield from self._speech.say(choice["delta"], choice.get("logprobs"))
                self._stop_text = as_text(choice.get("stop_reason")) or None
        if report := report_of(chunk):
            yield report
        yield from untold(chunk, *_HEADS)

    def _finish(self) -> Iterator[Event]:
        self._over = True
        if self._choice.reason is None:
            raise StreamBroken("The provider's stream ended before the model finished.")
        yield from self._speech.close(cut=self._choice.reason == "length")
        yield finished(self._choice.reason, self._stop_text)


class DecodedWhole(Whole):
    """Reads one ``chat.completion`` object; of several choices only the first."""

    def __init__(self, tags: Tags | None) -> None:
        super().__init__()
        self._speech = Speech(tags)

    def end(self) -> Iterator[Event]:
        """Yield the whole answer's events."""
        answer = read_whole(self.body).value
        choice = as_object(answer["choices"][0])
        state = Choice()
        state.mend_message(choice)
        self._speech.answer_id = as_text(answer.get("id"))
        yield started(answer)
        message = choice["message"]
        calls = [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]
        numbered = [{**call, "index": place} for place, call in enumerate(calls)]
        message = {**message, "tool_calls": numbered}
        cut = state.reason == "length"
        yield from self._speech.say_whole(message, choice.get("logprobs"), cut=cut)
        if report := report_of(answer):
            yield report
        yield from untold(answer, *_HEADS)
        yield finished(state.reason or "stop", as_text(choice.get("stop_reason")) or None)


def started(answer: JsonObject) -> Started:
    """Return the beginning that a chunk or a whole *answer* tells."""
    named = (as_text(answer.get(name)) for name in ("id", "model", "system_fingerprint"))
    return Started(*named)


def finished(reason: str, stop_text: str | None = None, raw: bytes = b"") -> Finished:
    """Return the end for OpenAI's *reason*; *stop_text* is what vLLM says it met."""
    if reason == "stop" and stop_text:
        return Finished("stop_sequence", stop_text, raw)
    return Finished(NEUTRAL[reason], None, raw)


def _is_whole(data: bytes) -> bool:
    """Return whether the last, unended event says all it was to say."""
    if data.strip() == b"[DONE]":
        return True
    try:
        read(data)
    except ValueError:
        return False
    return True
