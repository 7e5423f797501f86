"""Reads the tools of a request, and how they may be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal

from gateway.wire.openai_chat.fields import Fields, flag, items, required, text, thing, wrong
from gateway.wire.openai_responses import namespaces, searches
from gateway.wire.openai_responses.fields import NAME, others
from techniques.core.free_form import TYPE, parameters
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Tool, ToolChoice
from techniques.core.tool_search import DEFERRED, PARAMETERS
from techniques.core.tool_search import TYPE as SEARCH

_FUNCTION: Final = frozenset({"type", "name", "description", "parameters", "strict"})
_CUSTOM: Final = frozenset({"type", "name", "description"})
_MODES: Final[dict[str, Literal["auto", "none", "required"]]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
}
Tools = tuple[Tool | Opaque, ...]


def tools_of(body: Fields) -> Tools:
    """Return the tools that may be called: those of ``tool_choice`` where it names some."""
    tools = _listed(body, "")
    tools = (*tools, *_brought(body, {tool.name for tool in tools if isinstance(tool, Tool)}))
    choice = body.get("tool_choice")
    if not isinstance(choice, dict) or choice.get("type") != "allowed_tools":
        return tools
    allowed = [
        _named(tool, f"tool_choice.tools[{n}]")
        for n, tool in enumerate(items(choice, "tools", "tool_choice."))
    ]
    names, kinds = _names(allowed), set(map(_kind, allowed))
    return tuple(
        tool
        for tool in tools
        if (tool.name in names if isinstance(tool, Tool) else _kind(tool.value) in kinds)
    )


def _listed(holder: Fields, at: str) -> Tools:
    """Return the ``tools`` of *holder*, which stands at the path *at*."""
    listed = enumerate(items(holder, "tools", at))
    return tuple(one for n, tool in listed for one in _tools(tool, f"{at}tools[{n}]"))


def _brought(body: Fields, known: set[str]) -> Iterator[Tool | Opaque]:
    """Yield the tools that come with the input, but for those that are *known*."""
    given = body.get("input")
    for place, item in enumerate(given if isinstance(given, list) else ()):
        if not searches.brings_tools(item):
            continue
        for tool in _listed(item, f"input[{place}]."):
            if isinstance(tool, Opaque):
                yield tool
            elif tool.name not in known:
                known.add(tool.name)
                yield _loaded(tool)


def _loaded(tool: Tool) -> Tool:
    """Return *tool* as one that is to be offered at once."""
    extra = {name: value for name, value in tool.extra.items() if name != DEFERRED}
    return replace(tool, extra=extra)


def _tools(tool: Json, at: str) -> Tools:
    """Return what *tool* is: itself, or the tools of a group."""
    if not isinstance(tool, dict) or tool.get("type") != namespaces.KIND:
        return (_tool(tool, at),)
    group, told = required(tool, "name", f"{at}."), text(tool, "description", f"{at}.")
    inner = enumerate(items(tool, "tools", f"{at}."))
    return tuple(
        namespaces.grouped(_tool(one, f"{at}.tools[{n}]"), group, told) for n, one in inner
    )


def _tool(tool: Json, at: str) -> Tool | Opaque:
    if not isinstance(tool, dict):
        raise wrong(at, "an object")
    kind = required(tool, "type", f"{at}.")
    read = _search if searches.is_search_tool(tool) else _READERS.get(kind)
    return Opaque(NAME, tool) if read is None else read(tool, f"{at}.")


def _function(tool: JsonObject, at: str) -> Tool:
    return Tool(
        required(tool, "name", at),
        text(tool, "description", at),
        thing(tool, "parameters", at),
        flag(tool, "strict", at),
        extra=others(tool, _FUNCTION),
    )


def _custom(tool: JsonObject, at: str) -> Tool:
    name, told = required(tool, "name", at), text(tool, "description", at)
    extra = {"type": TYPE, **others(tool, _CUSTOM)}
    return Tool(name, told, parameters(thing(tool, "format", at)), extra=extra)


def _search(tool: JsonObject, at: str) -> Tool:
    told = text(tool, "description", at) or "Search for tools that may be called then."
    asked = thing(tool, "parameters", at) or PARAMETERS
    return Tool(SEARCH, told, asked, extra=searches.kept(tool))


_READERS: Final[dict[str, Callable[[JsonObject, str], Tool]]] = {
    "function": _function,
    "custom": _custom,
}


def _named(tool: Json, at: str) -> JsonObject:
    if not isinstance(tool, dict):
        raise wrong(at, "an object")
    required(tool, "type", f"{at}.")
    return tool


def _names(allowed: list[JsonObject]) -> set[str]:
    """Return the names of the tools that the *allowed* ones stand for."""
    named = [one for one in allowed if one.get("type") != SEARCH]
    names = {name for name, _ in namespaces.plain(named)}
    return names if len(named) == len(allowed) else names | {SEARCH}


def _kind(tool: JsonObject) -> tuple[str, str]:
    """Return what one of OpenAI's own tools has in common with the entry that allows it."""
    kind: str = tool["type"]
    return kind, repr(tool.get("server_label")) if kind == "mcp" else ""


def choice_of(body: Fields, extra: JsonObject) -> ToolChoice | None:
    """Return how tools may be used; a kind of choice without a name inside stays in *extra*."""
    parallel = flag(body, "parallel_tool_calls")
    choice = body.get("tool_choice")
    if choice is None:
        return None if parallel is None else ToolChoice(parallel=parallel)
    if isinstance(choice, str):
        return ToolChoice(_mode(choice, "tool_choice"), None, parallel)
    if not isinstance(choice, dict):
        raise wrong("tool_choice", "a string or an object")
    kind = required(choice, "type", "tool_choice.")
    if kind in _READERS:
        group = text(choice, namespaces.KIND, "tool_choice.")
        named = namespaces.joined(group, required(choice, "name", "tool_choice."))
        return ToolChoice("named", named, parallel)
    if kind == "allowed_tools":
        mode = required(choice, "mode", "tool_choice.")
        return ToolChoice(_mode(mode, "tool_choice.mode"), None, parallel)
    extra["tool_choice"] = choice
    return ToolChoice("required", None, parallel)


def _mode(name: str, param: str) -> Literal["auto", "none", "required"]:
    mode = _MODES.get(name)
    if mode is None:
        raise wrong(param, "'auto', 'none' or 'required'")
    return mode
