"""Groups of tools, which clients call namespaces: to providers, each tool in one stands for itself.

Its name there begins with the group's. A client finds both names apart again, in a call's
``name`` and ``namespace``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Tool, ToolCall

KIND: Final = "namespace"
_BETWEEN: Final = "__"


class Own(NamedTuple):
    """What a client calls a tool of a group."""

    group: str
    name: str


def joined(group: str | None, name: str) -> str:
    """Return the name of the tool *name* of *group* among all tools."""
    return name if group is None else f"{group.removesuffix(_BETWEEN)}{_BETWEEN}{name}"


def grouped(tool: Tool | Opaque, group: str, told: str | None) -> Tool | Opaque:
    """Return *tool* as one that stands for itself, with what is *told* of its group."""
    if isinstance(tool, Opaque):
        return tool
    said = "\n\n".join(text for text in (told, tool.description) if text)
    return replace(tool, name=joined(group, tool.name), description=said or None)


def plain(tools: Json) -> Iterator[tuple[str, Json]]:
    """Yield the *tools* of a request, those of groups too, each with its name among all."""
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        inner = tool.get("tools") if tool.get("type") == KIND else [tool]
        group = tool.get("name") if tool.get("type") == KIND else None
        for one in inner if isinstance(inner, list) else ():
            if isinstance(one, dict) and isinstance(name := one.get("name"), str):
                yield joined(group if isinstance(group, str) else None, name), one


def own_names(tools: Json) -> Mapping[str, Own]:
    """Return what the client calls each tool of a group, by its name among all."""
    groups = [t for t in (tools if isinstance(tools, list) else ()) if isinstance(t, dict)]
    return {
        name: Own(group["name"], one["name"])
        for group in groups
        if group.get("type") == KIND and isinstance(group.get("name"), str)
        for name, one in plain([group])
    }


def owned(called: ToolCall, own: Mapping[str, Own]) -> ToolCall:
    """Return *called* under the names that the client has for its tool."""
    found = own.get(called.name)
    if found is None:
        return called
    return replace(called, name=found.name, extra={**called.extra, KIND: found.group})


def group_of(called: ToolCall) -> JsonObject:
    """Return the field that tells the group of a tool that the client calls by two names."""
    return {KIND: called.extra[KIND]} if KIND in called.extra else {}
