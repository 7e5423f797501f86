"""Writes a neutral conversation as ``instructions`` and input items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gateway.upstream.openai.ids import OF_RESPONSES, shortened
from gateway.upstream.openai.losses import Losses
from gateway.upstream.openai.quoted import readable
from gateway.upstream.providers.openai_responses.parts import content_of, is_item, output_of
from gateway.upstream.providers.openai_responses.tools import custom_tools, found_of
from techniques.core.carried import FIELDS
from techniques.core.free_form import is_free_form, unwrapped
from techniques.core.json import JsonObject
from techniques.core.request import (
    Message,
    Opaque,
    Part,
    RedactedThinking,
    Refusal,
    Request,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from techniques.core.signatures import encrypted_of, item_of
from techniques.core.tool_search import CLIENT, is_search, read_arguments
from techniques.core.tool_search import TYPE as SEARCH

_INSTRUCTS: Final = frozenset({"system", "developer"})


def conversation_of(request: Request, losses: Losses) -> JsonObject:
    """Return the fields ``instructions``, if there are any, and ``input``.

    What a foreign client tells the model in front becomes the instructions; of a client of this
    API only its first turn is one, since what follows stands among its items.
    """
    messages = readable(request.messages)
    front = _front(messages, most=1 if losses.native else None)
    if not losses.native and _must_name_json(request, front):
        front = ()
    said = "\n\n".join(message.text for message in front)
    for message in front:
        if message.name is not None:
            losses.drop("field_dropped", "messages.name")
        content_of(message.parts, message.role, losses)  # of which it is told what is lost
    items = list(_Items(request, losses).of(messages[len(front) :]))
    if not items and not losses.native:  # there must be something to answer
        return {"input": said}
    return {"instructions": said, "input": items} if front else {"input": items}


def _must_name_json(request: Request, front: Sequence[Message]) -> bool:
    """Tell whether only the turns in *front* say that the answer is to be JSON.

    OpenAI refuses a JSON mode of which no item of the input speaks; instructions are none.
    """
    form = request.response_format
    if form is None or form.kind != "json_object":
        return False
    named = ["json" in message.text.lower() for message in request.messages]
    return any(named[: len(front)]) and not any(named[len(front) :])


def _front(messages: Sequence[Message], most: int | None) -> Sequence[Message]:
    """Return the turns at the beginning that can be said as one text."""
    count = 0
    for message in messages[:most]:
        plain = all(isinstance(part, Text) and not part.extra for part in message.parts)
        native = most == 1 and message.role != "system"
        if message.role not in _INSTRUCTS or not plain or message.extra or native:
            break
        count += 1
    return messages[:count]


class _Items:
    """Writes the items of one request; calls of *custom* tools are told apart by the tool's name.

    A result is a custom one if its call was.
    """

    def __init__(self, request: Request, losses: Losses) -> None:
        self._losses = losses
        self._custom = custom_tools(request)
        self._calls: set[str] = set()  # ids of calls of custom tools
        self._tools = request.tools
        tools = (tool for tool in request.tools if isinstance(tool, Tool))
        self._searches = any(is_search(tool.extra) for tool in tools)

    def of(self, messages: Sequence[Message]) -> Iterator[JsonObject]:
        """Yield the items of *messages*."""
        for message in messages:
            if message.name is not None:
                self._losses.drop("field_dropped", "messages.name")
            extra = self._losses.keep(message.extra)
            results = [part for part in message.parts if isinstance(part, ToolResult)]
            for result in results:
                yield self._result(result)
            others = [part for part in message.parts if not isinstance(part, ToolResult)]
            role = "user" if message.role == "tool" else message.role
            if others or not results:
                yield from self._turn(role, others, extra)

    def _turn(self, role: str, parts: Sequence[Part], extra: JsonObject) -> Iterator[JsonObject]:
        spoken: list[Part] = []
        for part in parts:
            apart = isinstance(part, ToolCall | Thinking | RedactedThinking) or is_item(part)
            if not apart:
                spoken.append(part)
                continue
            yield from self._spoken(role, spoken, extra)
            spoken = []
            item = self._apart(part)
            if item is not None:
                yield item
        if spoken or not parts:
            yield from self._spoken(role, spoken, extra, empty=role != "assistant")

    def _spoken(
        self, role: str, parts: Sequence[Part], extra: JsonObject, *, empty: bool = False
    ) -> Iterator[JsonObject]:
        if role == "assistant":
            parts = [part for part in parts if not _is_empty(part)]
        if parts or empty:
            content = content_of(parts, role, self._losses) if parts else ""
            yield {**extra, "type": "message", "role": role, "content": content}

    def _apart(self, part: Part) -> JsonObject | None:
        match part:
            case ToolCall():
                return self._call(part)
            case Opaque():
                return dict(part.value)
            case Thinking():
                return self._reasoning(part)
            case _:
                self._losses.drop("thinking_dropped", "messages")
                return None

    def _reasoning(self, part: Thinking) -> JsonObject | None:
        encrypted = encrypted_of(part.signature)
        if not encrypted:
            self._losses.drop("thinking_dropped", "messages")
            return None
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        item = item_of(part.signature)
        named = {"id": item} if item else {}  # one of our own would not fit what is encrypted
        return {"type": "reasoning", **named, "summary": summary, "encrypted_content": encrypted}

    def _call(self, call: ToolCall) -> JsonObject:
        self._cached(call)
        for name in FIELDS.intersection(call.extra):
            self._losses.drop("field_dropped", name)
        if is_search(call.extra) or (self._searches and call.name == SEARCH):
            given = read_arguments(call.arguments)
            return {**_search("call", call.id), "arguments": given}
        own = {name: value for name, value in call.extra.items() if name not in FIELDS}
        extra = self._losses.keep(own)
        if call.name in self._custom or is_free_form(call.extra):
            self._calls.add(call.id)
            custom = {"type": "custom_tool_call", "input": unwrapped(call.arguments)}
            return {
                **extra,
                "call_id": shortened(call.id, OF_RESPONSES),
                "name": call.name,
                **custom,
            }
        function = {"type": "function_call", "arguments": call.arguments or "{}"}
        return {**extra, "call_id": shortened(call.id, OF_RESPONSES), "name": call.name, **function}

    def _result(self, result: ToolResult) -> JsonObject:
        self._cached(result)
        if is_search(result.extra):
            found = found_of(self._tools, result.extra, self._losses)
            return {**_search("output", result.call_id), "tools": found}
        custom = result.call_id in self._calls or is_free_form(result.extra)
        output = output_of(result.parts, self._losses, is_error=result.is_error)
        kind = "custom_tool_call_output" if custom else "function_call_output"
        extra = self._losses.keep(result.extra)
        return {
            **extra,
            "type": kind,
            "call_id": shortened(result.call_id, OF_RESPONSES),
            "output": output,
        }

    def _cached(self, part: ToolCall | ToolResult) -> None:
        if part.cache is not None:
            self._losses.drop("cache_control_dropped", "cache_control")


def _search(what: str, own: str) -> JsonObject:
    """Return what the call of a client's search and its output begin with."""
    told: JsonObject = {"type": f"{SEARCH}_{what}", "call_id": shortened(own, OF_RESPONSES)}
    return {**told, "execution": CLIENT, "status": "completed"}


def _is_empty(part: Part) -> bool:
    return isinstance(part, Text | Refusal) and not part.text
