"""Reads the turns of a conversation.

Most clients of this API lose the ids of tool calls, as early versions had none: a result is then
that of the first open call of its tool's name, or of the first that is open at all. Some lose the
calls themselves, which Ollama takes and no other provider: such a result is told as a user's text.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Final

import orjson

from gateway.wire.drafts import without_drafts
from gateway.wire.ollama.images import images_of
from gateway.wire.openai_chat.fields import items, required, rest, text, thing, wrong
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Message,
    Part,
    Role,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)

_COMMON: Final = frozenset({"role", "content", "images", "thinking", "tool_calls"})
_TOOL: Final = _COMMON | {"tool_name", "name", "tool_call_id"}
_ROLES: Final[dict[str, Role]] = {"system": "system", "developer": "developer", "user": "user"}
_ANY: Final = ("any", "")


def turns_of(turns: list[Json]) -> tuple[Message, ...]:
    """Return the conversation.

    Raises:
        RequestRejected: A turn is wrong; the place in the list is named.
    """
    read = _Turns()
    return tuple(read.turn(turn, f"messages[{place}]") for place, turn in enumerate(turns))


def tools_of(tools: list[Json]) -> tuple[Tool, ...]:
    """Return the tools, which are functions.

    Raises:
        RequestRejected: One is wrong.
    """
    return tuple(_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools))


def parts_of(turn: JsonObject, at: str) -> tuple[Part, ...]:
    """Return the images of a *turn* and then its text, the order in which Ollama shows them."""
    content = text(turn, "content", at)
    return (*images_of(turn, at), *((Text(content),) if content else ()))


class _Open:
    """Calls that have no result yet; each is found and taken without a look at all others."""

    def __init__(self) -> None:
        self._made = 0
        self._calls: dict[int, ToolCall] = {}
        self._places: dict[tuple[str, str], deque[int]] = defaultdict(deque)

    def add(self, calls: Sequence[ToolCall]) -> None:
        """Open *calls* beside those that are open."""
        for place, call in enumerate(calls, self._made):
            self._calls[place] = call
            for known in (("id", call.id), ("name", call.name), _ANY):
                self._places[known].append(place)
        self._made += len(calls)

    def take(self, call_id: str | None, name: str | None) -> ToolCall | None:
        """Take the call of that id, else the first of that name, else the first of all."""
        for known in (("id", call_id or ""), ("name", name or ""), _ANY):
            places = self._places.get(known, ())
            while places:
                if (found := self._calls.pop(places.popleft(), None)) is not None:
                    return found
        return None


class _Turns:
    """Reads turn by turn; ``open`` are the calls that have no result yet.

    Some clients give each of several calls a turn of its own, and the results after all of them.
    """

    def __init__(self) -> None:
        self._made = 0
        self._open = _Open()
        self._calls_go_on = False

    def turn(self, turn: Json, at: str) -> Message:
        """Return *turn* as a message."""
        if not isinstance(turn, dict):
            raise wrong(at, "an object")
        at += "."
        role = required(turn, "role", at)
        self._calls_go_on = self._calls_go_on and role == "assistant"
        if role in _ROLES:
            return Message(_ROLES[role], parts_of(turn, at) or (Text(""),), None, _rest(turn))
        if role == "assistant":
            return self._assistant(turn, at)
        if role == "tool":
            return self._result(turn, at)
        raise wrong(f"{at}role", "system, user, assistant or tool")

    def _assistant(self, turn: JsonObject, at: str) -> Message:
        thought = without_drafts(text(turn, "thinking", at) or "")
        calls = [
            self._call(call, f"{at}tool_calls[{place}]")
            for place, call in enumerate(items(turn, "tool_calls", at))
        ]
        if calls and not self._calls_go_on:
            self._open = _Open()
        self._open.add(calls)
        self._calls_go_on = bool(calls)
        thinking = (Thinking(thought),) if thought else ()
        return Message("assistant", (*thinking, *parts_of(turn, at), *calls), None, _rest(turn))

    def _call(self, call: Json, at: str) -> ToolCall:
        if not isinstance(call, dict):
            raise wrong(at, "an object")
        function = thing(call, "function", f"{at}.")
        if function is None:
            raise wrong(f"{at}.function", "an object")
        self._made += 1
        return ToolCall(
            text(call, "id", f"{at}.") or f"call_{self._made}",
            required(function, "name", f"{at}.function."),
            _arguments(function.get("arguments"), f"{at}.function.arguments"),
        )

    def _result(self, turn: JsonObject, at: str) -> Message:
        name = text(turn, "tool_name", at) or text(turn, "name", at)
        answered = self._open.take(text(turn, "tool_call_id", at), name)
        parts, extra = parts_of(turn, at), rest(turn, _TOOL)
        if answered is not None:
            return Message("tool", (ToolResult(answered.id, parts),), None, extra)
        told = Text(f"[The result of {name or 'a tool'}]\n")
        return Message("user", (told, *parts), None, extra)


def _rest(turn: JsonObject) -> JsonObject:
    return rest(turn, _COMMON)


def _arguments(value: Json, at: str) -> str:
    """Return the arguments as JSON text; some clients send that."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, dict):
        raise wrong(at, "an object")
    return orjson.dumps(value).decode()


def _tool(tool: Json, at: str) -> Tool:
    function = thing(tool, "function", f"{at}.") if isinstance(tool, dict) else None
    if function is None or tool.get("type") not in (None, "", "function"):
        raise wrong(at, "a function: an object with 'type' and 'function'")
    at += ".function."
    return Tool(
        required(function, "name", at),
        text(function, "description", at),
        thing(function, "parameters", at),
    )
