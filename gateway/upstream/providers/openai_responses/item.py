"""Reads one item of an answer as it grows, or when it is there whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import orjson

from gateway.upstream.openai.payload import as_list, as_object, as_text
from gateway.upstream.providers.openai_responses.cited import citation_of
from gateway.upstream.providers.openai_responses.names import DIALECT
from gateway.upstream.untold import untold
from techniques.core.events import (
    BlockAdded,
    Cited,
    Event,
    RefusalDelta,
    Signed,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque
from techniques.core.signatures import marked
from techniques.core.tool_search import TYPE as SEARCH
from techniques.core.tool_search import is_clients, write_arguments

_BETWEEN: Final = "\n\n"
"""What stands between the parts of a summary."""
_COMMENTARY: Final = "commentary"
"""The phase of what is said on the way; elsewhere all that is said is the answer."""
_OF_CALLS: Final = ("caller", "async")
_DIRECT: Final = {"type": "direct"}
_SEARCH: Final = "client_search_call"
_CALLS: Final = frozenset({"function_call", "custom_tool_call", _SEARCH})


def kind_of(item: JsonObject) -> str:
    """Return what *item* is: its type, but that a search is a call only if the client makes it."""
    kind = as_text(item.get("type"))
    return _SEARCH if kind == "tool_search_call" and is_clients(item) else kind


def is_call(kind: str) -> bool:
    """Tell whether an item of this *kind* is a call of one of the client's tools."""
    return kind in _CALLS


class Item:
    """An item; *place* is how many calls come before it.

    *after* tells that it is reasoning which follows some that nobody signed: the two are one block.
    ``before`` is how many characters of text other items said before it, ``said`` how many it has.
    What was said of it in pieces is not said again when it is told whole, as it is at its end.
    """

    def __init__(self, kind: str, place: int, *, after: bool = False) -> None:
        self.kind = kind
        self._place = place
        self._after = after
        self.signed = False
        self.before = self.said = 0
        self._said: dict[tuple[str, Json], str] = {}  # by the kind and the index of a part
        self._begun = False
        self.closed = False

    def start(self, item: JsonObject) -> Iterator[Event]:
        """Yield what *item* tells when it begins."""
        if is_call(self.kind) and not self._begun:
            self._begun = True
            call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
            name = SEARCH if self.kind == _SEARCH else as_text(item.get("name"))
            yield ToolCallStarted(self._place, call_id, name)
            if self.kind == "custom_tool_call":
                yield ToolCallDelta(self._place, '{"input":"')

    def grow(self, sort: str, index: Json, text: str, logprobs: Json = None) -> Iterator[Event]:
        """Yield some more *text* of the part of this *sort* at *index*."""
        if not text and not logprobs:
            return
        key = (sort, index)
        between = ""
        if sort in {"summary", "reasoning"}:
            if self._is_other(sort):
                return
            fresh = key not in self._said
            between = _BETWEEN if fresh and (self._said or self._after) else ""
        self._said[key] = self._said.get(key, "") + text
        yield self._piece(sort, between + text, logprobs)

    def settle(self, sort: str, index: Json, whole: Json, logprobs: Json = None) -> Iterator[Event]:
        """Yield what is missing of the part of this *sort* at *index*, now that it is *whole*."""
        text, said = as_text(whole), self._said.get((sort, index), "")
        if text.startswith(said) and len(text) > len(said):
            yield from self.grow(sort, index, text[len(said) :], None if said else logprobs)

    def finish(self, item: JsonObject) -> Iterator[Event]:
        """Yield what is known only when the *item* is complete, and what was not said of it yet."""
        if self.closed:
            return
        self.closed = True
        yield from self.start(item)
        if is_call(self.kind):
            called = {**item, "caller": None} if item.get("caller") == _DIRECT else item
            yield from untold(called, *_OF_CALLS, at=self.kind)
        match self.kind:
            case "message":
                yield from self._message(item)
            case "function_call":
                yield from self.settle("arguments", 0, item.get("arguments"))
            case "custom_tool_call":
                yield from self.settle("input", 0, item.get("input"))
                yield ToolCallDelta(self._place, '"}')
            case "reasoning":
                yield from self._reasoning(item)
            case "client_search_call":
                yield ToolCallDelta(self._place, write_arguments(item.get("arguments") or {}))
            case _:
                yield BlockAdded(Opaque(DIALECT, item))

    def _message(self, item: JsonObject) -> Iterator[Event]:
        for index, part in enumerate(as_list(item.get("content"))):
            fields = as_object(part)
            if fields.get("type") == "refusal":
                yield from self.settle("refusal", index, fields.get("refusal"))
            else:
                yield from self.settle("text", index, fields.get("text"), fields.get("logprobs"))
                yield from self._cited(fields)
        if item.get("phase") == _COMMENTARY:
            yield from untold(item, "phase", at="message")

    def _cited(self, part: JsonObject) -> Iterator[Event]:
        """Yield the sources of a *part* that is text."""
        for one in map(as_object, as_list(part.get("annotations"))):
            if one:
                yield Cited(citation_of(one, self.before + self.said))
        self.said += len(as_text(part.get("text")))

    def _reasoning(self, item: JsonObject) -> Iterator[Event]:
        for sort, name in (("summary", "summary"), ("reasoning", "content")):
            for index, part in enumerate(as_list(item.get(name))):
                yield from self.settle(sort, index, as_object(part).get("text"))
        encrypted = as_text(item.get("encrypted_content"))
        if encrypted:
            if not self._said:
                yield ThinkingDelta("")
            self.signed = True
            yield Signed(marked(encrypted, as_text(item.get("id"))))

    def _is_other(self, sort: str) -> bool:
        """Tell whether the reasoning is already told in its other form: one is enough."""
        return any(told != sort for told, _ in self._said)

    def _piece(self, sort: str, text: str, logprobs: Json) -> Event:
        match sort:
            case "text":
                tokens = [_token(one) for one in as_list(logprobs)]
                return TextDelta(text, {"content": tokens, "refusal": None} if tokens else None)
            case "refusal":
                return RefusalDelta(text)
            case "arguments":
                return ToolCallDelta(self._place, text)
            case "input":
                return ToolCallDelta(self._place, _inside(text))
            case _:
                return ThinkingDelta(text)


def _inside(text: str) -> str:
    """Return *text* as it stands inside a JSON string."""
    return orjson.dumps(text).decode()[1:-1]


def _token(told: Json) -> JsonObject:
    """Return a token's log-probability as chat completions have it, of which deltas lack a part."""
    token = {"bytes": None, **as_object(told)}
    others = [{"bytes": None, **as_object(other)} for other in as_list(token.get("top_logprobs"))]
    return {**token, "top_logprobs": others}
