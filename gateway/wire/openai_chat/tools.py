"""Reads the tools of a request, also where they are still called functions."""

from __future__ import annotations

from typing import Literal, get_args

from gateway.wire.openai_chat import custom
from gateway.wire.openai_chat.fields import (
    NAME,
    Fields,
    flag,
    items,
    required,
    rest,
    text,
    thing,
    wrong,
)
from techniques.core.free_form import is_free_form
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Tool, ToolChoice

_Mode = Literal["auto", "none", "required"]
_Tools = tuple[Tool | Opaque, ...]
_KNOWN = frozenset({"type", "function", "cache_control"})


def tools_of(body: Fields) -> _Tools:
    """Return the ``tools`` that may be called, or the ``functions`` of old."""
    tools = [_tool(tool, f"tools[{place}].") for place, tool in enumerate(items(body, "tools"))]
    old = [
        _function({"function": function}, f"functions[{place}]")
        for place, function in enumerate(items(body, "functions"))
    ]
    return _allowed((*tools, *old), body)


def _allowed(tools: _Tools, body: Fields) -> _Tools:
    """Return those of *tools* that ``tool_choice`` allows, all where it names none."""
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return tools
    at = "tool_choice.allowed_tools"
    allowed = thing(choice, "allowed_tools", "tool_choice.") or {}
    if allowed.get("tools") is None:
        return tools
    named = enumerate(items(allowed, "tools", f"{at}."))
    names = {_name(tool, f"{at}.tools[{place}]") for place, tool in named}
    return tuple(tool for tool in tools if _name_of(tool) in names)


def _name(tool: Json, at: str) -> tuple[str, Json]:
    """Return what one entry of those that are allowed names."""
    if not isinstance(tool, dict):
        raise wrong(at, "an object")
    kind = required(tool, "type", f"{at}.")
    return kind, required(thing(tool, kind, f"{at}.") or {}, "name", f"{at}.{kind}.")


def _name_of(tool: Tool | Opaque) -> tuple[str, Json]:
    if isinstance(tool, Tool):
        return "custom" if is_free_form(tool.extra) else "function", tool.name
    value = tool.value if isinstance(tool.value, dict) else {}
    kind = str(value.get("type"))
    own = value.get(kind)
    return kind, own.get("name") if isinstance(own, dict) else None


def _tool(tool: Json, at: str) -> Tool | Opaque:
    if not isinstance(tool, dict):
        raise wrong(at[:-1], "an object")
    if custom.is_custom(tool):
        return custom.tool_of(tool, at[:-1])
    if tool.get("type") != "function":
        required(tool, "type", at)
        return Opaque(NAME, tool)
    return _function(tool, f"{at}function")


def _function(tool: JsonObject, at: str) -> Tool:
    function = tool.get("function")
    if not isinstance(function, dict):
        raise wrong(at, "an object")
    return Tool(
        required(function, "name", f"{at}."),
        text(function, "description", f"{at}."),
        thing(function, "parameters", f"{at}."),
        flag(function, "strict", f"{at}."),
        tool.get("cache_control"),
        rest(tool, _KNOWN),
    )


def choice_of(body: Fields, extra: JsonObject) -> ToolChoice | None:
    """Return how tools may be used; a kind of choice without a name inside stays in *extra*."""
    parallel = flag(body, "parallel_tool_calls")
    old = body.get("tool_choice") is None and body.get("function_call") is not None
    param = "function_call" if old else "tool_choice"
    choice = body.get(param)
    if choice is None:
        return None if parallel is None else ToolChoice(parallel=parallel)
    if isinstance(choice, str):
        if choice not in get_args(_Mode):
            raise wrong(param, "'auto', 'none', 'required' or an object")
        return ToolChoice(_mode(choice), None, parallel)
    if not isinstance(choice, dict):
        raise wrong(param, "a string or an object")
    if old:
        return ToolChoice("named", required(choice, "name", "function_call."), parallel)
    return _object_choice(choice, parallel, extra)


def _object_choice(choice: JsonObject, parallel: bool | None, extra: JsonObject) -> ToolChoice:  # noqa: FBT001
    kind = required(choice, "type", "tool_choice.")
    if kind == "function":
        function = thing(choice, "function", "tool_choice.") or {}
        return ToolChoice("named", required(function, "name", "tool_choice.function."), parallel)
    if custom.is_custom(choice):
        name = required(choice[kind], "name", f"tool_choice.{kind}.")
        return ToolChoice("named", name, parallel)
    if kind == "allowed_tools":
        allowed = thing(choice, "allowed_tools", "tool_choice.") or {}
        return ToolChoice(_mode(allowed.get("mode")), None, parallel)
    extra["tool_choice"] = choice
    return ToolChoice("auto", None, parallel)


def _mode(name: Json) -> _Mode:
    return "none" if name == "none" else "required" if name == "required" else "auto"
