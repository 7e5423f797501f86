"""Reads answers that are passed on as they came: whole ones, and streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from gateway.upstream.completions.call import choices_of
from gateway.upstream.openai.failure import is_error, reported, unreadable
from gateway.upstream.openai.payload import as_list, as_object, as_text, read
from gateway.upstream.providers.openai_chat.payload import report_of, usage_of
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.whole import Whole
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import (
    Event,
    Finished,
    FinishReason,
    Relayed,
    Started,
    UsageReported,
)
from techniques.core.json import Json, JsonObject
from techniques.core.request import Relay

_DONE: Final = b"[DONE]"
_REASONS: Final[dict[str, FinishReason]] = {"length": "length", "content_filter": "content_filter"}


class CompletionStream:
    """Relays a stream of texts. Its usage is read, and shown to who asked for it."""

    def __init__(self, relay: Relay) -> None:
        self._sse = SseReader()
        self._include_usage = relay.include_usage
        self._wanted = choices_of(dict(relay.body))
        self._reasons: dict[int, str] = {}
        self._out: list[bytes] = []
        self._characters = 0
        self._started: Started | None = None
        self._told = False
        self._report: UsageReported | None = None
        self._usage_chunk = b""
        self._finished: Finished | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield what *chunk* completes."""
        if self._finished is None:
            yield from self._read(list(self._sse.feed(chunk)))

    def end(self) -> Iterator[Event]:
        """Yield what was complete only with the end of the bytes."""
        if self._finished is not None:
            return
        rest = parse(self._sse.rest())
        if rest.data is not None and _is_whole(rest.data):
            yield from self._read([rest])
        if self._finished is None:
            self._close(b"", complete=len(self._reasons) >= self._wanted)
            yield from self._flush()

    def _read(self, events: list[SseEvent]) -> Iterator[Event]:
        try:
            for event in events:
                if self._finished is None:
                    self._take(event)
        except UpstreamFailed:
            yield from self._flush()
            raise
        yield from self._flush()

    def _take(self, event: SseEvent) -> None:
        if event.data is None:
            self._out.append(event.raw)
        elif event.data.strip() == _DONE:
            self._close(event.raw, complete=bool(self._reasons))
        else:
            self._take_chunk(event, event.data)

    def _take_chunk(self, event: SseEvent, data: bytes) -> None:
        try:
            value, mended = read(data)
        except ValueError:
            raise unreadable("has an event that is not JSON") from None
        chunk = as_object(value)
        if event.name == "error" or is_error(chunk):
            raise reported(chunk, usage_of(chunk.get("usage")))
        for choice in map(as_object, as_list(chunk.get("choices"))):
            self._take_choice(choice)
            self._started = self._started or _started(chunk)
        if chunk.get("usage") is None:
            self._out.append(_frame(chunk) if mended else event.raw)
        else:
            self._take_usage(chunk)

    def _take_choice(self, choice: JsonObject) -> None:
        self._characters += len(as_text(choice.get("text")))
        if reason := as_text(choice.get("finish_reason")):
            index = choice.get("index")
            self._reasons[index if isinstance(index, int) else 0] = reason

    def _take_usage(self, chunk: JsonObject) -> None:
        """Keep the usage of *chunk* for the end, and what else it says for now."""
        self._report = report_of(chunk) or self._report
        self._usage_chunk = _frame({**chunk, "choices": []})
        if chunk.get("choices"):
            others = {name: value for name, value in chunk.items() if name != "usage"}
            self._out.append(_frame({**others, "usage": None} if self._include_usage else others))

    def _close(self, raw: bytes, *, complete: bool) -> None:
        if not complete:
            raise StreamBroken("The provider's stream ended before the model finished.")
        if self._include_usage and self._usage_chunk:
            self._out.append(self._usage_chunk)
        reason = next(iter(self._reasons.values()), "")
        self._finished = Finished(_REASONS.get(reason, "stop"), raw=raw)

    def _flush(self) -> Iterator[Event]:
        """Yield what there is, once the model has begun: of what came before nobody is told."""
        if self._started is not None and self._out:
            if not self._told:
                self._told = True
                yield self._started
            raw, characters = b"".join(self._out), self._characters
            self._out, self._characters = [], 0
            yield Relayed(raw, characters)
        if self._report is not None:
            report, self._report = self._report, None
            yield report
        if self._finished is not None:
            yield self._finished


class CompletionWhole(Whole):
    """Relays one whole answer; with *streamed* as a stream of one event."""

    def __init__(self, relay: Relay, *, streamed: bool = False) -> None:
        super().__init__()
        self._relay = relay
        self._streamed = streamed

    def end(self) -> Iterator[Event]:
        """Yield the whole answer."""
        body = self.body
        try:
            value, mended = read(body)
        except ValueError:
            raise unreadable("is not JSON") from None
        answer = as_object(value)
        usage = usage_of(answer.get("usage"))
        if is_error(answer):
            raise reported(answer, usage)
        choices = [as_object(choice) for choice in as_list(answer.get("choices"))]
        if not choices:
            raise unreadable("has no choices", usage)
        yield _started(answer)
        written = orjson.dumps(answer) if mended else body
        characters = sum(len(as_text(choice.get("text"))) for choice in choices)
        yield Relayed(self._frames(answer) if self._streamed else written, characters)
        if report := report_of(answer):
            yield report
        yield Finished(_REASONS.get(as_text(choices[0].get("finish_reason")), "stop"))

    def _frames(self, answer: JsonObject) -> bytes:
        others = {name: value for name, value in answer.items() if name != "usage"}
        if not self._relay.include_usage or "usage" not in answer:
            return _frame(others)
        return _frame({**others, "usage": None}) + _frame({**answer, "choices": []})


class Unstreamed:
    """Refuses a stream where a whole answer was asked for."""

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Refuse *chunk*."""
        del chunk
        raise unreadable("is a stream, which was not asked for")

    def end(self) -> Iterator[Event]:
        """Refuse what came."""
        raise unreadable("is a stream, which was not asked for")


def _started(answer: JsonObject) -> Started:
    return Started(as_text(answer.get("id")), as_text(answer.get("model")))


def _frame(chunk: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _is_whole(data: bytes) -> bool:
    value: Json
    if data.strip() == _DONE:
        return True
    try:
        value, _ = read(data)
    except ValueError:
        return False
    return isinstance(value, dict)
