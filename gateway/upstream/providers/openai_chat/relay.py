"""Passes a provider's own bytes on and reads of them only what must be known.

The stream reader is the hottest code of the product: ``plain`` tells it which chunks need no look.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

import orjson

from gateway.upstream.openai.failure import is_error, reported, unreadable
from gateway.upstream.openai.payload import as_index, as_list, read
from gateway.upstream.providers.openai_chat.decode import finished, started
from gateway.upstream.providers.openai_chat.mend import NEUTRAL, Choice
from gateway.upstream.providers.openai_chat.payload import report_of, usage_of
from gateway.upstream.providers.openai_chat.plain import PlainChunks, plain
from gateway.upstream.providers.openai_chat.whole import read_whole
from gateway.upstream.sse import SseEvent, SseReader, parse
from gateway.upstream.whole import Whole
from pricing.usage import Usage
from techniques.core.errors import StreamBroken, UpstreamFailed
from techniques.core.events import Event, Finished, Relayed, Started, UsageReported
from techniques.core.json import Json, JsonObject

_DONE = b"[DONE]"  # the one event that is no JSON: to try it would cost more than a chunk
_COMMENTS = re.compile(rb"(?:(?::[^\r\n]*)?(?:\r\n|\r|\n))*")


class RelayedStream:
    """Relays a stream of chunks, mending only what a strict client could not read.

    *include_usage* is the client's own wish: usage is reported inside whether or not it is shown.
    *choices* is how many choices must finish where no ``[DONE]`` says that all have.
    """

    def __init__(self, *, include_usage: bool, choices: int) -> None:
        self._sse = SseReader()
        self._include_usage = include_usage
        self._wanted = choices
        self._choices: defaultdict[int, Choice] = defaultdict(Choice)
        self._plain = PlainChunks()
        self._out: list[bytes] = []
        self._characters = 0
        self._started: Started | None = None
        self._speaking = False  # of what came before, a client is not told until it is
        self._told = False
        self._plain_so_far = False  # nothing is held back, so plain bytes can go as they are
        self._report: UsageReported | None = None
        self._usage: Usage | None = None
        self._usage_chunk: SseEvent | JsonObject | None = None
        self._finished: Finished | None = None

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the regular bytes of *chunk* in one piece, and what they tell."""
        if self._plain_so_far:
            characters = self._plain.said(chunk)
            if characters >= 0:
                return iter((Relayed(chunk, characters),))
        return self._read(chunk)

    def _read(self, chunk: bytes) -> Iterator[Event]:
        if self._finished is not None:
            return
        self._plain_so_far = False
        try:
            for event in self._sse.feed(chunk):
                self._take(event)
                if self._finished is not None:
                    break
        except UpstreamFailed:
            yield from self._flush()
            raise
        yield from self._flush()
        self._plain_so_far = self._is_between_events()

    def end(self) -> Iterator[Event]:
        """Yield what was complete only with the end of the bytes."""
        if self._finished is not None:
            return
        rest = self._sse.rest()
        try:
            self._take_last(rest)
            if self._finished is None:
                self._close(len(self._reasons()) >= self._wanted, b"")
        except UpstreamFailed:
            yield from self._flush()
            raise
        yield from self._flush()

    def _is_between_events(self) -> bool:
        return self._told and self._finished is None and self._sse.empty

    def _take(self, event: SseEvent) -> None:
        data = event.data
        if data is None:
            if _COMMENTS.fullmatch(event.raw):
                self._out.append(event.raw)
            return
        if data == _DONE:
            self._close(bool(self._reasons()), event.raw)
            return
        try:
            chunk = orjson.loads(data)
        except ValueError:
            self._take_odd(event, data)
            return
        characters = plain(chunk) if self._speaking and event.name is None else -1
        if characters >= 0:
            self._characters += characters
            self._out.append(event.raw)
        else:
            self._take_chunk(event, chunk, mended=False)

    def _take_odd(self, event: SseEvent, data: bytes) -> None:
        if data.strip() == _DONE:
            self._close(bool(self._reasons()), event.raw)
            return
        try:
            chunk, _ = read(data)
        except ValueError:
            raise unreadable("has an event that is not JSON") from None
        self._take_chunk(event, chunk, mended=True)

    def _take_last(self, rest: bytes) -> None:
        """Take bytes without an end, if they are a whole event; else they were cut off."""
        event = parse(rest)
        if event.data is None:
            return
        if event.data.strip() == _DONE:
            self._close(bool(self._reasons()), b"")
            return
        try:
            chunk, _ = read(event.data)
        except ValueError:
            return
        self._take_chunk(event, chunk, mended=True)

    def _take_chunk(self, event: SseEvent, chunk: Json, *, mended: bool) -> None:
        if not isinstance(chunk, dict):
            raise unreadable("has an event that is not a JSON object")
        if event.name == "error" or is_error(chunk):
            raise reported(chunk, usage_of(chunk.get("usage")) or self._usage)
        choices = [choice for choice in as_list(chunk.get("choices")) if isinstance(choice, dict)]
        for choice in choices:
            index = as_index(choice.get("index")) or 0
            mended |= self._choices[index].mend_delta(choice)
            self._characters += _spoken(choice["delta"])
            self._speaking = True  # a client's clock to the first chunk counts the role's, too
        if choices and self._started is None:
            self._started = started(chunk)
        if chunk.get("usage") is not None:
            self._take_usage(event, chunk, mended=mended)
            mended = True
            if not choices:
                return
        if choices or "choices" in chunk:
            self._out.append(_frame(chunk) if mended else event.raw)

    def _take_usage(self, event: SseEvent, chunk: JsonObject, *, mended: bool) -> None:
        """Note the usage in *chunk*, take it out, and keep a chunk that tells it at the end."""
        if report := report_of(chunk):
            self._report, self._usage = report, report.usage
        own = chunk.get("choices") == [] and not mended
        self._usage_chunk = event if own else {**chunk, "choices": []}
        if self._include_usage:
            chunk["usage"] = None
        else:
            del chunk["usage"]

    def _reasons(self) -> list[str]:
        return [choice.reason for choice in self._choices.values() if choice.reason]

    def _close(self, complete: bool, raw: bytes) -> None:  # noqa: FBT001
        if not complete:
            raise StreamBroken("The provider's stream ended before the model finished.")
        last = self._usage_chunk
        if last is not None and self._include_usage:
            self._out.append(last.raw if isinstance(last, SseEvent) else _frame(last))
        self._finished = finished(self._reasons()[0], raw=raw)

    def _flush(self) -> Iterator[Event]:
        if self._speaking and self._out:
            if not self._told and self._started is not None:
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


class RelayedWhole(Whole):
    """Relays one ``chat.completion`` object, mending only what a strict client could not read."""

    def end(self) -> Iterator[Event]:
        """Yield the whole answer."""
        body = self.body
        answer = _parsed(body)
        if answer is not None and (reason := _regular(answer)):
            yield Relayed(body, _words(answer["choices"][0]["message"]))
            if report := report_of(answer):
                yield report
            yield finished(reason)
            return
        yield from self._mended(body)

    def _mended(self, body: bytes) -> Iterator[Event]:
        whole = read_whole(body)
        answer, mended = whole.value, whole.mended
        reasons: list[str] = []
        characters = 0
        for choice in answer["choices"]:
            state = Choice()
            if isinstance(choice, dict):
                mended |= state.mend_message(choice)
                reasons.append(state.reason or "stop")
                characters += _spoken(choice["message"])
        yield started(answer)
        yield Relayed(orjson.dumps(answer) if mended else body, characters)
        if report := report_of(answer):
            yield report
        yield finished(reasons[0])


def _parsed(body: bytes) -> Json:
    try:
        return orjson.loads(body)
    except ValueError:
        return None


def _regular(answer: Json) -> str:
    """Return why the one choice of *answer* finished, "" unless all of it is as it should be."""
    if type(answer) is not dict or "error" in answer:
        return ""
    choices = answer.get("choices")
    if type(choices) is not list or len(choices) != 1 or type(choices[0]) is not dict:
        return ""
    choice = choices[0]
    message, reason = choice.get("message"), choice.get("finish_reason")
    if (
        type(message) is not dict
        or "content" not in message
        or type(choice.get("index")) is not int
    ):
        return ""
    if message.get("tool_calls") or message.get("function_call"):
        return ""
    return reason if type(reason) is str and reason in NEUTRAL else ""


def _frame(chunk: JsonObject) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def _words(delta: JsonObject) -> int:
    characters = 0
    for name, value in delta.items():
        if type(value) is str and name != "role":
            characters += len(value)
    return characters


def _spoken(delta: JsonObject) -> int:
    """Return the characters of text, reasoning and calls in a delta or a message."""
    functions = [call.get("function") for call in as_list(delta.get("tool_calls")) if call]
    functions.append(delta.get("function_call"))
    written = sum(_words(function) for function in functions if isinstance(function, dict))
    return written + _words(delta)
