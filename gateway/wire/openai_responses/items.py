"""The items of a streamed answer: each is added, grows and is done."""

from __future__ import annotations

from typing import Literal, Protocol

import orjson

from gateway.wire.openai_responses import output
from gateway.wire.openai_responses.events import Events, head_of
from gateway.wire.openai_responses.output import CallKind, Status
from gateway.wire.openai_responses.searches import CALL
from techniques.core.citation import Citation
from techniques.core.free_form import unwrapped
from techniques.core.json import Json, JsonObject
from techniques.core.lines import on_a_line
from techniques.core.request import ToolCall
from techniques.core.tool_search import read_arguments

_Kind = Literal["output_text", "refusal"]


class Item(Protocol):
    """One item. ``value`` is what it is now, as it stands in the response."""

    place: int
    value: JsonObject

    def close(self, events: Events, status: Status) -> bytes:
        """Return the frames that end it."""
        ...

    def settle(self) -> None:
        """Bring what came of it so far into ``value``, for a response that breaks off."""
        ...


def added(events: Events, item: Item) -> bytes:
    """Return the frame that begins *item*."""
    return events.write(
        "response.output_item.added", {"output_index": item.place, "item": item.value}
    )


def done(events: Events, item: Item) -> bytes:
    """Return the frame that ends *item*."""
    return events.write(
        "response.output_item.done", {"output_index": item.place, "item": item.value}
    )


class Message:
    """What the model says: parts that are text, or refuse.

    So many characters of text were said *before* it.
    """

    def __init__(self, item_id: str, place: int, before: int = 0) -> None:
        self.place = place
        self._before = before
        self.value = output.message(item_id, "in_progress", [])
        self._kind: _Kind | None = None
        self._at: JsonObject = {"item_id": item_id, "output_index": place}
        self._head = b""
        self._pieces: list[str] = []
        self._logprobs: list[Json] = []
        self._annotations: list[Json] = []

    def say(self, events: Events, text: str, logprobs: list[Json]) -> bytes:
        """Return the frames of some more text."""
        opening = self._open(events, "output_text")
        self._pieces.append(text)
        tail = b',"logprobs":[]'
        if logprobs:
            self._logprobs += logprobs
            tail = b',"logprobs":' + on_a_line(logprobs)
        return opening + events.piece(self._head, text, tail)

    def cite(self, events: Events, citation: Citation) -> bytes:
        """Return the frame of a source of its text; one that comes late is told with the end."""
        if self._kind != "output_text":
            self._cite_late(citation)
            return b""
        told = output.annotation(citation, self._before)
        if not told:
            return b""
        index, content = len(self._annotations), len(self.value["content"]) - 1
        self._annotations.append(told)
        place = {**self._at, "content_index": content, "annotation_index": index}
        return events.write("response.output_text.annotation.added", {**place, "annotation": told})

    def _cite_late(self, citation: Citation) -> None:
        texts = [part for part in self.value["content"] if part["type"] == "output_text"]
        if texts:
            told = output.annotation(citation, self._before - len(texts[-1]["text"]))
            texts[-1]["annotations"] = [*texts[-1]["annotations"], *filter(None, [told])]

    def refuse(self, events: Events, text: str) -> bytes:
        """Return the frames of some more of a refusal."""
        opening = self._open(events, "refusal")
        self._pieces.append(text)
        return opening + events.piece(self._head, text)

    def close(self, events: Events, status: Status) -> bytes:
        """Return the frames that end it."""
        closing = self._close(events)
        self.value["status"] = status
        return closing + done(events, self)

    def _open(self, events: Events, kind: _Kind) -> bytes:
        if self._kind == kind:
            return b""
        closing = self._close(events)
        self._kind = kind
        place = {**self._at, "content_index": len(self.value["content"])}
        self._head = head_of(f"response.{kind}.delta", place)
        part = self._part()
        self.value["content"] = [*self.value["content"], part]
        return closing + events.write("response.content_part.added", {**place, "part": part})

    def _part(self) -> JsonObject:
        text = "".join(self._pieces)
        if self._kind == "refusal":
            return output.refusal(text)
        return output.output_text(text, self._logprobs, self._annotations)

    def _close(self, events: Events) -> bytes:
        if self._kind is None:
            return b""
        part = self._part()
        place = {**self._at, "content_index": len(self.value["content"]) - 1}
        self.value["content"][-1] = part
        told = {"refusal": part["refusal"]} if self._kind == "refusal" else _told(part)
        closing = events.write(f"response.{self._kind}.done", {**place, **told})
        self._before += len(part.get("text", ""))
        self._kind, self._pieces, self._logprobs, self._annotations = None, [], [], []
        return closing + events.write("response.content_part.done", {**place, "part": part})

    def settle(self) -> None:
        """Bring what was said so far into ``value``."""
        if self._kind is not None:
            self.value["content"][-1] = self._part()


def _told(part: JsonObject) -> JsonObject:
    return {"text": part["text"], "logprobs": part["logprobs"]}


class Reasoning:
    """What the model thinks, or a *draft* of its answer that is shown among it."""

    def __init__(self, item_id: str, place: int, *, draft: bool = False) -> None:
        self.place = place
        self.draft = draft
        self.value = output.reasoning(item_id, "")
        self._at: JsonObject = {"item_id": item_id, "output_index": place, "summary_index": 0}
        self._head = b""
        self._pieces: list[str] = []

    def think(self, events: Events, text: str) -> bytes:
        """Return the frames of some more reasoning; an empty text says nothing."""
        if not text:
            return b""
        opening = b""
        if not self._pieces:
            self._head = head_of("response.reasoning_summary_text.delta", self._at)
            part = {"type": "summary_text", "text": ""}
            opening = events.write(
                "response.reasoning_summary_part.added", {**self._at, "part": part}
            )
        self._pieces.append(text)
        return opening + events.piece(self._head, text)

    def close(self, events: Events, status: Status, made: str | None = None) -> bytes:
        """Return the frames that end it; *made* is what only its maker can read."""
        del status  # it has none
        self.settle()
        if made is not None:
            self.value["encrypted_content"] = made
        closing = b""
        for part in self.value["summary"]:
            told = {**self._at, "text": part["text"]}
            closing += events.write("response.reasoning_summary_text.done", told)
            told = {**self._at, "part": part}
            closing += events.write("response.reasoning_summary_part.done", told)
        return closing + done(events, self)

    def settle(self) -> None:
        """Bring what was thought so far into ``value``."""
        text = "".join(self._pieces)
        self.value = output.reasoning(self.value["id"], text)


class Called:
    """A wish to call a tool. What is no function gets its input in one piece, at its end."""

    def __init__(self, item_id: str, place: int, called: ToolCall, kind: CallKind) -> None:
        self.place = place
        self.value = output.call(item_id, "in_progress", called, kind)
        self._call = called
        self._kind: CallKind = kind
        self._at: JsonObject = {"item_id": item_id, "output_index": place}
        self._head = head_of("response.function_call_arguments.delta", self._at)
        self._pieces: list[str] = []

    @property
    def is_whole(self) -> bool:
        """Whether nothing more can come: the arguments are an object, from end to end."""
        text = "".join(self._pieces)
        if not text.rstrip().endswith("}"):
            return False
        try:
            orjson.loads(text)
        except orjson.JSONDecodeError:
            return False
        return True

    def argue(self, events: Events, arguments: str) -> bytes:
        """Return the frames of some more arguments."""
        if not arguments:
            return b""
        self._pieces.append(arguments)
        return events.piece(self._head, arguments) if self._kind == "function_call" else b""

    def close(self, events: Events, status: Status) -> bytes:
        """Return the frames that end it."""
        opening = b"" if self._pieces else self.argue(events, "{}")
        self.settle()
        self.value["status"] = status
        if self._kind == CALL:
            return done(events, self)  # it has no events of its own
        if self._kind == "custom_tool_call":
            told = {**self._at, "input": self.value["input"]}
            head = head_of("response.custom_tool_call_input.delta", self._at)
            opening += events.piece(head, self.value["input"])
            closing = events.write("response.custom_tool_call_input.done", told)
        else:
            told = {**self._at, "name": self._call.name, "arguments": self.value["arguments"]}
            closing = events.write("response.function_call_arguments.done", told)
        return opening + closing + done(events, self)

    def settle(self) -> None:
        """Bring the arguments so far into ``value``."""
        text = "".join(self._pieces)
        match self._kind:
            case "tool_search_call":
                self.value["arguments"] = read_arguments(text)
            case "custom_tool_call":
                self.value["input"] = unwrapped(text)
            case _:
                self.value["arguments"] = text


class Whole:
    """An item that comes in one piece."""

    def __init__(self, value: JsonObject, place: int) -> None:
        self.place = place
        self.value = value

    def close(self, events: Events, status: Status) -> bytes:
        """Return the frame that ends it."""
        del status  # it has its own
        return done(events, self)

    def settle(self) -> None:
        """Do nothing: it is whole."""
