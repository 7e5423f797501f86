"""Tools that come with the input: those that a client's search found, and those it added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from gateway.wire.openai_chat.fields import items, required
from gateway.wire.openai_responses import namespaces
from gateway.wire.openai_responses.fields import others
from techniques.core.json import Json, JsonObject
from techniques.core.request import Text, ToolCall, ToolResult
from techniques.core.tool_search import (
    CLIENT,
    LOADED,
    TYPE,
    is_clients,
    read_arguments,
    write_arguments,
)

CALL: Final[Literal["tool_search_call"]] = "tool_search_call"
OUTPUT: Final = "tool_search_output"
ADDED: Final = "additional_tools"
_TOLD: Final = frozenset({"type", "execution", "description", "parameters"})


def brings_tools(item: Json) -> bool:
    """Tell whether *item* of the input makes tools known that may be called from there on."""
    if not isinstance(item, dict):
        return False
    return item.get("type") == ADDED or (item.get("type") == OUTPUT and is_clients(item))


def offered(body: Mapping[str, Json]) -> list[Json]:
    """Return the tools of *body* as they came, with those that its input brings."""
    tools, given = body.get("tools"), body.get("input")
    every = list(tools) if isinstance(tools, list) else []
    for item in given if isinstance(given, list) else ():
        if brings_tools(item) and isinstance(item.get("tools"), list):
            every += item["tools"]
    return every


def kept(tool: JsonObject) -> JsonObject:
    """Return what is said of a search beside what a function says of itself, too."""
    return {"type": TYPE, "execution": CLIENT, **others(tool, _TOLD)}


def call_read(item: JsonObject, at: str) -> ToolCall:
    """Return the call that *item* is."""
    given = write_arguments(item.get("arguments"))
    return ToolCall(required(item, "call_id", at), TYPE, given, extra={"type": TYPE})


def result_read(item: JsonObject, at: str) -> ToolResult:
    """Return what *item* tells the model: which tools it may call now, by the names it knows."""
    names = [name for name, _ in namespaces.plain(items(item, "tools", at))]
    found = "No tools were found."
    if names:
        found = "These tools were found, and can be called now: " + ", ".join(names)
    extra = {"type": TYPE, LOADED: names}
    return ToolResult(required(item, "call_id", at), (Text(found),), extra=extra)


def searched(called: ToolCall) -> JsonObject:
    """Return the fields of a call that is a search, beside its id and its status."""
    given = read_arguments(called.arguments)
    return {"call_id": called.id, "execution": CLIENT, "arguments": given}


def is_search_tool(tool: Json) -> bool:
    """Tell whether *tool*, of a request's body, is a search that the client carries out."""
    return is_clients(tool) and tool.get("type") == TYPE
