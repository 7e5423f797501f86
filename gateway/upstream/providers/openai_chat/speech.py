"""Turns what a host's model says, whole or in pieces, into events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.upstream.providers.openai_chat.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_chat.think import ThinkSplitter
from techniques.core.events import (
    Event,
    RefusalDelta,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from techniques.core.json import Json, JsonObject


class Speech:
    """Reads mended deltas of one choice, or one whole message, in order.

    ``answer_id`` makes ids for tool calls that came without one.
    """

    def __init__(self, *, split_thinking: bool) -> None:
        self.answer_id = ""
        self._think = ThinkSplitter() if split_thinking else None
        self._started: set[int] = set()
        self._early: dict[int, list[str]] = {}
        self._ids: dict[int, str] = {}

    def say(self, delta: JsonObject, logprobs: Json = None) -> Iterator[Event]:
        """Yield the events in *delta*."""
        if thinking := as_text(delta.get("reasoning_content")) or as_text(delta.get("reasoning")):
            yield ThinkingDelta(thinking)
        content = delta.get("content")
        if isinstance(content, str):
            yield from self._text(content, logprobs)
        else:
            for part in as_list(content):
                yield from self._part(as_object(part))
        if refusal := as_text(delta.get("refusal")):
            yield RefusalDelta(refusal)
        for call in as_list(delta.get("tool_calls")):
            yield from self._call(as_object(call))
        if function := as_object(delta.get("function_call")):
            yield from self._call({"index": 0, "function": function})

    def close(self) -> Iterator[Event]:
        """Yield what was kept back for more to come."""
        if self._think:
            yield from self._think.close()
        for index in list(self._early):
            yield from self._start(index, "")

    def _text(self, text: str, logprobs: Json) -> Iterator[Event]:
        logprobs = logprobs if as_object(logprobs).get("content") else None
        if self._think is None:
            if text or logprobs:
                yield TextDelta(text, logprobs)
            return
        for piece in self._think.feed(text):
            if isinstance(piece, TextDelta) and logprobs:
                piece, logprobs = TextDelta(piece.text, logprobs), None
            yield piece

    def _part(self, part: JsonObject) -> Iterator[Event]:
        """Yield a part of a content list (Mistral's reasoning models write one)."""
        if part.get("type") == "thinking":
            inner = part.get("thinking")
            texts = [as_text(as_object(item).get("text")) for item in as_list(inner)]
            if thinking := as_text(inner) or "".join(texts):
                yield ThinkingDelta(thinking)
        elif text := as_text(part.get("text")):
            yield from self._text(text, None)

    def _call(self, call: JsonObject) -> Iterator[Event]:
        index = call["index"]
        function = as_object(call.get("function"))
        if identity := as_text(call.get("id")):
            self._ids.setdefault(index, identity)
        if index not in self._started:
            early = self._early.setdefault(index, [])
            early.append(as_text(function.get("arguments")))
            if name := as_text(function.get("name")):
                yield from self._start(index, name)
        elif arguments := as_text(function.get("arguments")):
            yield ToolCallDelta(index, arguments)

    def _start(self, index: int, name: str) -> Iterator[Event]:
        self._started.add(index)
        made_up = f"call_{re.sub(r'[^A-Za-z0-9]', '', self.answer_id)[-24:]}{index}"
        yield ToolCallStarted(index, self._ids.get(index) or made_up, name)
        if arguments := "".join(self._early.pop(index)):
            yield ToolCallDelta(index, arguments)
