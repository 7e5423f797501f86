"""Reads the turns of a conversation."""

from __future__ import annotations

from collections.abc import Callable

from gateway.wire.openai_chat import custom
from gateway.wire.openai_chat.fields import items, required, rest, text, thing, wrong
from gateway.wire.openai_chat.parts import parts_of
from techniques.core.json import Json, JsonObject
from techniques.core.request import (
    Message,
    Part,
    Refusal,
    Role,
    Thinking,
    ToolCall,
    ToolResult,
)

_COMMON = frozenset({"role", "content", "name"})
_ASSISTANT = _COMMON | {"tool_calls", "function_call", "refusal", "reasoning_content"}
_TOOL = _COMMON | {"tool_call_id", "cache_control"}
_CALL = frozenset({"id", "type", "function", "cache_control", "index"})
_ROLES: dict[str, Role] = {"system": "system", "developer": "developer", "user": "user"}


def turns_of(turns: list[Json]) -> tuple[Message, ...]:
    """Return the conversation.

    Raises:
        RequestRejected: A turn is wrong; the place in the list is named.
    """
    return _Turns().read(turns)


class _Turns:
    """Reads turn by turn; an old function's result belongs to the function call before it."""

    def __init__(self) -> None:
        self._old_call = "call_0"

    def read(self, turns: list[Json]) -> tuple[Message, ...]:
        """Return the turns as messages."""
        return tuple(self._turn(turn, place) for place, turn in enumerate(turns))

    def _turn(self, turn: Json, place: int) -> Message:
        at = f"messages[{place}]"
        if not isinstance(turn, dict):
            raise wrong(at, "an object")
        role = required(turn, "role", f"{at}.")
        name = text(turn, "name", f"{at}.")
        if role in _ROLES:
            parts = parts_of(turn.get("content"), f"{at}.content")
            return Message(_ROLES[role], parts, name, rest(turn, _COMMON))
        others: dict[str, Callable[[JsonObject, str, int], Message]] = {
            "assistant": self._assistant,
            "tool": self._tool,
            "function": self._function,
        }
        if role not in others:
            raise wrong(f"{at}.role", "system, developer, user, assistant, tool or function")
        return others[role](turn, f"{at}.", place)

    def _assistant(self, turn: JsonObject, at: str, place: int) -> Message:
        parts: list[Part] = []
        thinking = turn.get("reasoning_content") or turn.get("reasoning")
        if isinstance(thinking, str) and thinking:
            parts.append(Thinking(thinking))
        if turn.get("content") is not None:
            spoken = parts_of(turn["content"], f"{at}content")
            parts.extend(spoken if turn["content"] != "" else ())
        if refusal := text(turn, "refusal", at):
            parts.append(Refusal(refusal))
        calls = items(turn, "tool_calls", at)
        parts.extend(_call(call, f"{at}tool_calls[{n}]") for n, call in enumerate(calls))
        if function := thing(turn, "function_call", at):
            self._old_call = f"call_{place}"
            old = {"id": self._old_call, "function": function}
            parts.append(_call(old, f"{at}function_call"))
        return Message("assistant", tuple(parts), text(turn, "name", at), rest(turn, _ASSISTANT))

    def _tool(self, turn: JsonObject, at: str, _place: int) -> Message:
        call_id = required(turn, "tool_call_id", at)
        parts = parts_of(turn.get("content"), f"{at}content")
        result = ToolResult(call_id, parts, cache=turn.get("cache_control"))
        return Message("tool", (result,), text(turn, "name", at), rest(turn, _TOOL))

    def _function(self, turn: JsonObject, at: str, _place: int) -> Message:
        required(turn, "name", at)
        parts = parts_of(turn.get("content"), f"{at}content")
        return Message("tool", (ToolResult(self._old_call, parts),), extra=rest(turn, _COMMON))


def _call(call: Json, at: str) -> ToolCall:
    if not isinstance(call, dict):
        raise wrong(at, "an object")
    if custom.is_custom(call):
        return custom.call_of(call, at)
    function = thing(call, "function", f"{at}.")
    if function is None:
        raise wrong(f"{at}.function", "an object")
    return ToolCall(
        required(call, "id", f"{at}."),
        required(function, "name", f"{at}.function."),
        text(function, "arguments", f"{at}.function.") or "",
        call.get("cache_control"),
        rest(call, _CALL),
    )
