"""Reads the input: a text, or the items of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from gateway.wire.openai_chat.fields import required, text, wrong
from gateway.wire.openai_responses import searches
from gateway.wire.openai_responses.fields import NAME, others
from gateway.wire.openai_responses.namespaces import KIND, joined
from gateway.wire.openai_responses.parts import parts_of
from gateway.wire.openai_responses.reasoning import thinking_of
from techniques.core.errors import RequestRejected
from techniques.core.free_form import TYPE, wrapped
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.request import (
    Message,
    Opaque,
    Part,
    Refusal,
    Role,
    Text,
    ToolCall,
    ToolResult,
    said,
)
from techniques.core.tool_search import is_clients

_ROLES: Final[dict[str, Role]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
}
_MESSAGE: Final = frozenset({"type", "role", "content", "id", "status"})
_CALL: Final = frozenset({"type", "call_id", "name", KIND, "id", "status"})
_ARGUMENTS: Final = _CALL | {"arguments"}
_INPUT: Final = _CALL | {"input"}
_OUTPUT: Final = _CALL | {"output"}
"""What is read of items, and what says nothing: a name of the item's own, and that it is there."""
_JOINED: Final = frozenset({"assistant", "tool"})
"""Neighbouring items of these roles are one turn."""


class _Item(NamedTuple):
    role: Role
    parts: Sequence[Part]
    extra: Mapping[str, Json] = NOTHING


def turns_of(value: Json, at: str = "input") -> tuple[Message, ...]:
    """Return the conversation that *value*, which stands at the path *at*, spells.

    Raises:
        RequestRejected: It is no input; the place in it is named.
    """
    if isinstance(value, str):
        return (said("user", value),)
    if not isinstance(value, list):
        raise wrong(at, "a string or a list of items")
    turns: list[_Turn] = []
    for place, item in enumerate(value):
        role, parts, extra = _item(item, f"{at}[{place}]")
        if turns and _joins(turns[-1], _Item(role, parts, extra)):
            turns[-1].parts.extend(parts)
            turns[-1].extra.update(extra)
        elif parts or role not in _JOINED:
            turns.append(_Turn(role, list(parts), dict(extra)))
    return tuple(Message(turn.role, tuple(turn.parts), extra=turn.extra) for turn in turns)


class _Turn(NamedTuple):
    role: Role
    parts: list[Part]
    extra: JsonObject


def _joins(turn: _Turn, item: _Item) -> bool:
    """Return whether *item* belongs to *turn*: what was said twice, or as another, was said apart.

    What is told of a turn is told of all that is spoken in it.
    """
    if not item.parts or item.role not in _JOINED or turn.role != item.role:
        return False
    spoken = Text | Refusal
    if isinstance(turn.parts[-1], spoken) and isinstance(item.parts[0], spoken):
        return False
    says = isinstance(item.parts[0], spoken) and any(isinstance(p, spoken) for p in turn.parts)
    return not says or item.extra == turn.extra


def _item(item: Json, at: str) -> _Item:
    if not isinstance(item, dict):
        raise wrong(at, "an object")
    kind = text(item, "type", f"{at}.")
    if kind is None and "role" not in item and isinstance(item.get("id"), str):
        kind = "item_reference"
    if kind == "item_reference":
        raise _not_kept(item, at)
    read = _READERS.get(kind or "message")
    if read is None and is_clients(item):
        read = _OF_SEARCHES.get(kind or "")
    if read is not None:
        return read(item, f"{at}.")
    answers = kind is not None and kind.endswith(("_output", "_response"))
    return _Item("user" if answers else "assistant", (Opaque(NAME, item),))


def _not_kept(item: JsonObject, at: str) -> RequestRejected:
    """Return the error of an item that only its id stands for: here, nobody can look it up."""
    return RequestRejected(
        f"Item with id '{str(item.get('id'))[:100]}' not found: it is not kept, or not any more. "
        "Send the item itself, as clients do with store: false; the gateway's setting "
        "responses.store has it keep what it answers.",
        code="item_not_found",
        param=at,
    )


def _message(item: JsonObject, at: str) -> _Item:
    role = _ROLES.get(required(item, "role", at))
    if role is None:
        raise wrong(f"{at}role", "one of " + ", ".join(_ROLES))
    return _Item(role, parts_of(item.get("content"), f"{at}content"), others(item, _MESSAGE))


def _name(item: JsonObject, at: str) -> str:
    """Return the name among all tools of the one that was called."""
    return joined(text(item, KIND, at), required(item, "name", at))


def _function_call(item: JsonObject, at: str) -> _Item:
    arguments = text(item, "arguments", at) or ""
    extra = others(item, _ARGUMENTS)
    call = ToolCall(required(item, "call_id", at), _name(item, at), arguments, extra=extra)
    return _Item("assistant", (call,))


def _custom_call(item: JsonObject, at: str) -> _Item:
    given = wrapped(text(item, "input", at) or "")
    named = required(item, "call_id", at), _name(item, at)
    extra = {**others(item, _INPUT), "type": TYPE}
    return _Item("assistant", (ToolCall(*named, given, extra=extra),))


def _output(item: JsonObject, at: str) -> _Item:
    call_id, parts = required(item, "call_id", at), parts_of(item.get("output"), f"{at}output")
    return _Item("tool", (ToolResult(call_id, parts, extra=others(item, _OUTPUT)),))


def _custom_output(item: JsonObject, at: str) -> _Item:
    call_id, parts = required(item, "call_id", at), parts_of(item.get("output"), f"{at}output")
    extra = {**others(item, _OUTPUT), "type": TYPE}
    return _Item("tool", (ToolResult(call_id, parts, extra=extra),))


def _reasoning(item: JsonObject, at: str) -> _Item:
    thinking = thinking_of(item, at)
    return _Item("assistant", () if thinking is None else (thinking,))


def _search(item: JsonObject, at: str) -> _Item:
    return _Item("assistant", (searches.call_read(item, at),))


def _found(item: JsonObject, at: str) -> _Item:
    return _Item("tool", (searches.result_read(item, at),))


def _added(item: JsonObject, at: str) -> _Item:
    """Return nothing that is said: its tools are read with the others."""
    del item, at
    return _Item("assistant", ())


_OF_SEARCHES: Final[dict[str, Callable[[JsonObject, str], _Item]]] = {
    searches.CALL: _search,
    searches.OUTPUT: _found,
}
"""Items of a search that the client carries out; others are the provider's own."""
_READERS: Final[dict[str, Callable[[JsonObject, str], _Item]]] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _output,
    "custom_tool_call": _custom_call,
    "custom_tool_call_output": _custom_output,
    "reasoning": _reasoning,
    searches.ADDED: _added,
}
