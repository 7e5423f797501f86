"""Turns the events of a Responses stream, already parsed, into neutral ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.upstream.openai.payload import as_index, as_list, as_object, as_text
from gateway.upstream.providers.openai_responses.failure import failed
from gateway.upstream.providers.openai_responses.item import Item, is_call, kind_of
from gateway.upstream.providers.openai_responses.usage import report_of
from gateway.upstream.untold import untold
from techniques.core.events import Event, Finished, FinishReason, Started
from techniques.core.json import Json, JsonObject

_SORTS: Final[Mapping[str, tuple[str, str]]] = {
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_summary_text": ("summary", "text"),
    "reasoning_text": ("reasoning", "text"),
    "function_call_arguments": ("arguments", "arguments"),
    "custom_tool_call_input": ("input", "input"),
}
"""What grows in an item, and the field in which it is told whole."""
_KINDS: Final[Mapping[str, str]] = {
    "text": "message",
    "refusal": "message",
    "summary": "reasoning",
    "reasoning": "reasoning",
    "arguments": "function_call",
    "input": "custom_tool_call",
}
_INDEXES: Final = ("content_index", "summary_index")
_HEADS: Final = ("moderation", "prompt_cache_diagnostics", "input_transformations")
"""What a response tells of itself beside its output, for which nobody else has a place."""
_AUDIO: Final = "audio"
_DREW: Final = "tool_usage.image_gen"
_SHORT: Final[Mapping[str, FinishReason]] = {
    "content_filter": "content_filter",
    "max_output_tokens": "length",
}
ENDS: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
"""The ends of a response; in a stream, ``response.`` stands before them."""


class Content:
    """The items of one answer, by what tells them apart and by their kind."""

    def __init__(self) -> None:
        self._items: dict[tuple[Json, str], Item] = {}
        self._ids: dict[str, Item] = {}
        self._last: Item | None = None
        self._calls = 0
        self._said = 0

    @property
    def called(self) -> bool:
        """Whether the client's tools were called."""
        return self._calls > 0

    def event(self, name: str, body: JsonObject) -> Iterator[Event]:
        """Yield what the event *name* tells of an item; nothing of events that are not known."""
        if name == "output_item.added":
            item = as_object(body.get("item"))
            if is_call(kind_of(item)):
                yield from self._item(_place(body), item).start(item)
        elif name == "output_item.done":
            yield from self.whole(_place(body), body.get("item"))
        else:
            what, _, how = name.rpartition(".")
            if what in _SORTS:
                yield from self._piece(what, how, body)
            yield from untold({_AUDIO: name.startswith(f"{_AUDIO}.")}, _AUDIO)

    def whole(self, place: Json, value: Json) -> Iterator[Event]:
        """Yield what was not told yet of the item *value* at *place*, which is complete."""
        item = as_object(value)
        if as_text(item.get("type")):
            found = self._item(place, item)
            if not found.closed:
                found.before = self._said
                yield from found.finish(item)
                self._said += found.said

    def close(self) -> Iterator[Event]:
        """Yield what ends items that were never told whole."""
        for item in list(self._items.values()):
            if is_call(item.kind):
                yield from item.finish({})

    def _piece(self, what: str, how: str, body: JsonObject) -> Iterator[Event]:
        sort, field = _SORTS[what]
        known = {"type": _KINDS[sort], "id": body.get("item_id"), "name": body.get("name")}
        item = self._item(_place(body), known)
        yield from item.start(known)
        index = next((as_index(body[name]) for name in _INDEXES if name in body), 0)
        if how == "delta":
            logprobs = body.get("logprobs")
            yield from item.grow(sort, index, as_text(body.get("delta")), logprobs)
        elif how == "done":
            yield from item.settle(sort, index, body.get(field), body.get("logprobs"))

    def _item(self, place: Json, told: JsonObject) -> Item:
        """Return the item that *told* is of: by its id, or by its place, if that is of its kind.

        Some hosts change an item's id from one event to the next; others leave out its place.
        """
        kind, name = kind_of(told), as_text(told.get("id"))
        item = self._ids.get(name)
        if item is None or item.kind != kind:
            item = self._items.get((place, kind)) or self._new(place, kind)
        if name:
            self._ids[name] = item
        return item

    def _new(self, place: Json, kind: str) -> Item:
        last = self._last
        after = last is not None and last.kind == kind == "reasoning" and not last.signed
        item = self._items[place, kind] = self._last = Item(kind, self._calls, after=after)
        self._calls += is_call(kind)
        return item


def _place(body: JsonObject) -> Json:
    """Return by what an event names its item: its place in the output, or else its id."""
    place = body.get("output_index")
    item = as_object(body.get("item")).get("id")
    place = place if place is not None else body.get("item_id", item)
    return place if isinstance(place, int | str) else None


def started(response: JsonObject) -> Started:
    """Return the beginning that *response* tells."""
    return Started(as_text(response.get("id")), as_text(response.get("model")))


def ended(response: JsonObject, content: Content) -> Iterator[Event]:
    """Yield the end of an answer, of which *content* was read so far: all that it says at last.

    Raises:
        UpstreamFailed: The *response* is no answer.
    """
    if as_text(response.get("status")) in {"failed", "cancelled"}:
        raise failed(response)
    for place, item in enumerate(as_list(response.get("output"))):
        yield from content.whole(place, item)
    yield from content.close()
    report = report_of(response)
    if report is not None:
        yield report
    yield from untold(response, *_HEADS)
    yield from untold(
        as_object(response.get("tool_usage")).get("image_gen"), "total_tokens", at=_DREW
    )
    yield finished(response, called=content.called)


def finished(response: JsonObject, raw: bytes = b"", *, called: bool) -> Finished:
    """Return why the model stopped, whose *response* has ended; *called*: it called tools."""
    if as_text(response.get("status")) == "incomplete":
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        return Finished(_SHORT.get(reason, "length"), None, raw)
    return Finished("tool_calls" if called else "stop", None, raw)
