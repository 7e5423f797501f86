"""Turns what a host's model says, whole or in pieces, into events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gateway.upstream.openai.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_chat.cited import citation_of
from gateway.upstream.providers.openai_chat.payload import DIALECT
from gateway.upstream.providers.openai_chat.tags import Tags, TagSplitter
from gateway.upstream.untold import untold
from techniques.core.carried import FIELDS
from techniques.core.events import (
    BlockAdded,
    Cited,
    Event,
    Redacted,
    RefusalDelta,
    Signed,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from techniques.core.free_form import TYPE, wrapped
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import Opaque
from techniques.core.signatures import packed

_REASONING = ("reasoning_content", "reasoning", "thinking")
"""The fields in which hosts put reasoning: DeepSeek and older vLLM; newer vLLM, OpenRouter and
Groq; Ollama."""
_DETAILS = "reasoning_details"
_HIDDEN = "reasoning.encrypted"
_SHOWN = "reasoning.text"
_CALL = frozenset({"index", "id", "type", "function", TYPE})
"""What is known of a tool call. Gemini's hosts put the signature of the thinking before it beside
that, as ``extra_content``, and want it back."""


class Speech:
    """Reads mended deltas of one choice, or one whole message, in order.

    ``answer_id`` makes ids for tool calls that came without one. *tags* are looked for in the text.
    """

    def __init__(self, tags: Tags | None = None) -> None:
        self.answer_id = ""
        self._tags = tags
        self._think = None if tags is None else TagSplitter(tags)
        self._started: set[int] = set()
        self._early: dict[int, list[str]] = {}
        self._ids: dict[int, str] = {}
        self._extras: dict[int, JsonObject] = {}  # of calls that have no name yet

    def say(self, delta: JsonObject, logprobs: Json = None) -> Iterator[Event]:
        """Yield the events in *delta*."""
        yield from self._reasoning(delta)
        content, refused = delta.get("content"), as_object(logprobs).get("refusal")
        if refused:
            logprobs = {**as_object(logprobs), "refusal": None}
        if isinstance(content, str):
            yield from self._text(content, logprobs)
        else:
            for part in as_list(content):
                yield from self._part(as_object(part))
        if refusal := as_text(delta.get("refusal")):
            tokens = {"content": None, "refusal": refused} if refused else None
            yield RefusalDelta(refusal, tokens)
        for call in as_list(delta.get("tool_calls")):
            yield from self._call(as_object(call))
        yield from _beside(delta)
        if function := as_object(delta.get("function_call")):
            yield from self._call({"index": 0, "function": function})

    def say_whole(self, message: JsonObject, logprobs: Json, *, cut: bool) -> Iterator[Event]:
        """Yield the events in a whole *message*, which may have been *cut* at its limit."""
        content = message.get("content")
        if self._tags is not None and isinstance(content, str):
            self._think = TagSplitter(self._tags.of_whole(content, cut=cut))
        yield from self.say(message, logprobs)
        yield from self.close(cut=cut)

    def close(self, *, cut: bool) -> Iterator[Event]:
        """Yield what was kept back for more to come; *cut*: the model was stopped at its limit."""
        if self._think:
            yield from self._think.close(cut=cut)
        for index in list(self._early):
            yield from self._start(index, "")

    def _reasoning(self, delta: JsonObject) -> Iterator[Event]:
        """Yield the reasoning that *delta* has apart from its text."""
        details = [part for part in as_list(delta.get(_DETAILS)) if isinstance(part, dict)]
        thinking = next((text for name in _REASONING if (text := as_text(delta.get(name)))), "")
        thinking = thinking or "".join(map(_detail, details))
        if thinking and self._think:
            self._think.told_apart()
        if any(map(_is_signed, details)):
            yield from _signed(details, thinking)
        elif thinking:
            yield ThinkingDelta(thinking)
        if details:
            yield BlockAdded(Opaque(DIALECT, {_DETAILS: details}, thinking=True))
        if hidden := [part for part in details if part.get("type") == _HIDDEN]:
            yield Redacted(packed(hidden))  # for clients of the APIs that have a place for that

    def _text(self, text: str, logprobs: Json) -> Iterator[Event]:
        logprobs = logprobs if as_object(logprobs).get("content") else None
        if self._think is None:
            if text or logprobs:
                yield TextDelta(text, logprobs)
            return
        pieces = list(self._think.feed(text))
        if logprobs and any(isinstance(piece, ThinkingDelta) for piece in pieces):
            spoken = sum(len(piece.text) for piece in pieces if isinstance(piece, TextDelta))
            logprobs = _last(logprobs, len(text) - spoken)
        for piece in pieces:
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
        function = as_object(call.get("function")) or _as_function(call.get(TYPE))
        if identity := as_text(call.get("id")):
            self._ids.setdefault(index, identity)
        extra = {name: value for name, value in call.items() if name not in _CALL}
        if index not in self._started:
            self._extras.setdefault(index, {}).update(extra)
            early = self._early.setdefault(index, [])
            early.append(as_text(function.get("arguments")))
            if name := as_text(function.get("name")):
                yield from self._start(index, name)
        elif (arguments := as_text(function.get("arguments"))) or extra:
            yield ToolCallDelta(index, arguments, extra or NOTHING)

    def _start(self, index: int, name: str) -> Iterator[Event]:
        self._started.add(index)
        made_up = f"call_{re.sub(r'[^A-Za-z0-9]', '', self.answer_id)[-24:]}{index}"
        extra = self._extras.pop(index) or NOTHING
        yield ToolCallStarted(index, self._ids.get(index) or made_up, name, extra)
        if arguments := "".join(self._early.pop(index)):
            yield ToolCallDelta(index, arguments)


def _beside(delta: JsonObject) -> Iterator[Event]:
    """Yield what *delta* tells beside what the model says: its sources, and what has no place.

    Google's hosts sign text, too; they do without the signature.
    """
    for annotation in map(as_object, as_list(delta.get("annotations"))):
        if annotation:
            yield Cited(citation_of(annotation))
    yield from untold(delta, "audio", *FIELDS)


def _as_function(custom: Json) -> JsonObject:
    """Return the call of a *custom* tool as one of a function; it comes whole."""
    told = as_object(custom)
    return (
        {"name": told.get("name"), "arguments": wrapped(as_text(told.get("input")))} if told else {}
    )


def _detail(part: JsonObject) -> str:
    """Return what can be read of one of OpenRouter's details."""
    return as_text(part.get("text")) or as_text(part.get("summary"))


def _is_signed(part: JsonObject) -> bool:
    return part.get("type") == _SHOWN and bool(as_text(part.get("signature")))


def _signed(details: list[JsonObject], thinking: str) -> Iterator[Event]:
    """Yield *details* that hold signatures, each after what it signs; *thinking* is all their text.

    A stream tells a signature when its text is whole.
    """
    if thinking and not any(map(_detail, details)):
        yield ThinkingDelta(thinking)
    for part in details:
        if text := _detail(part):
            yield ThinkingDelta(text)
        if _is_signed(part):
            yield Signed(packed([{name: part[name] for name in part if name != "text"}]))


def _last(logprobs: JsonObject, start: int) -> JsonObject:
    """Return *logprobs* without those of the tokens before character *start*."""
    kept, place = [], 0
    for token in as_list(logprobs.get("content")):
        if place >= start:
            kept.append(token)
        place += len(as_text(as_object(token).get("token")))
    return {**logprobs, "content": kept}
