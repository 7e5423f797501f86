"""Tools whose input is free text, as this API has them: ``custom`` ones, and calls of those."""

from __future__ import annotations

from typing import Final

from gateway.wire.dialect import Call
from gateway.wire.openai_chat.fields import required, text, thing
from techniques.core.free_form import TYPE, parameters, unwrapped, wrapped
from techniques.core.json import Json, JsonObject
from techniques.core.request import Tool, ToolCall

_GRAMMAR: Final = "grammar"


def is_custom(value: JsonObject) -> bool:
    """Tell whether *value* is a tool of free text, or a call of one."""
    own = value.get(TYPE)
    return value.get("type") == TYPE and isinstance(own, dict) and "name" in own


def tool_of(tool: JsonObject, at: str) -> Tool:
    """Return the *tool* that stands at the path *at*."""
    own = thing(tool, TYPE, f"{at}.") or {}
    name = required(own, "name", f"{at}.{TYPE}.")
    told = text(own, "description", f"{at}.{TYPE}.")
    form = _flat(thing(own, "format", f"{at}.{TYPE}."))
    extra: JsonObject = {"type": TYPE} if form is None else {"type": TYPE, "format": form}
    return Tool(name, told, parameters(form), None, tool.get("cache_control"), extra)


def _flat(form: JsonObject | None) -> JsonObject | None:
    """Return the *form* of an input as the Responses API has it, and as it is said inside."""
    grammar = None if form is None else form.get(_GRAMMAR)
    if not isinstance(grammar, dict):
        return form
    return {"type": _GRAMMAR, **grammar}


def call_of(call: JsonObject, at: str) -> ToolCall:
    """Return the *call* that stands at the path *at*."""
    own = thing(call, TYPE, f"{at}.") or {}
    name = required(own, "name", f"{at}.{TYPE}.")
    given = wrapped(text(own, "input", f"{at}.{TYPE}.") or "")
    return ToolCall(required(call, "id", f"{at}."), name, given, extra={"type": TYPE})


def names_of(call: Call) -> frozenset[str]:
    """Return the names of the tools of free text that a client of *call* offers."""
    tools: Json = call.relay.body.get("tools")
    if not isinstance(tools, list):
        return frozenset()
    own = (tool[TYPE]["name"] for tool in tools if isinstance(tool, dict) and is_custom(tool))
    return frozenset(name for name in own if isinstance(name, str))


def written(call: ToolCall) -> JsonObject:
    """Return a *call* of a tool of free text as the client reads it."""
    own = {"name": call.name, "input": unwrapped(call.arguments)}
    return {"id": call.id, "type": TYPE, TYPE: own}
