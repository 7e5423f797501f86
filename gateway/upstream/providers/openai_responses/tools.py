"""Writes tools, and finds those that are more than functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gateway.upstream.openai.losses import Losses, refuse_tool
from gateway.upstream.providers.openai_responses.names import DIALECT
from gateway.upstream.providers.openai_responses.parts import kind_of
from techniques.core.free_form import is_free_form
from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Request, Tool
from techniques.core.tool_search import DEFERRED, LOADED, is_search

_EMPTY_SCHEMA: Final[JsonObject] = {"type": "object", "properties": {}}


def custom_tools(request: Request) -> frozenset[str]:
    """Return the names of the tools of *request* that take plain text."""
    tools = (tool for tool in request.tools if isinstance(tool, Tool))
    return frozenset(tool.name for tool in tools if is_free_form(tool.extra))


def is_one(tool: Tool | Opaque, found: frozenset[str]) -> bool:
    """Tell whether *tool* is one of those that a search *found*."""
    return isinstance(tool, Tool) and tool.name in found


def tool_of(tool: Tool | Opaque, losses: Losses) -> Json:
    """Return *tool* as this API has it.

    Raises:
        RequestRejected: It is another provider's own.
    """
    if isinstance(tool, Opaque):
        if tool.dialect != DIALECT:
            raise refuse_tool(kind_of(tool))
        return tool.value
    if tool.cache is not None:
        losses.drop("cache_control_dropped", "cache_control")
    written: JsonObject = {"type": "function", "name": tool.name}
    if tool.description is not None:
        written["description"] = tool.description
    if is_free_form(tool.extra):
        return {**written, **tool.extra}
    if is_search(tool.extra):
        found = {name: value for name, value in written.items() if name not in {"type", "name"}}
        return {**found, **tool.extra, "parameters": tool.parameters}
    written["parameters"] = _parameters(tool.parameters, losses)
    if tool.strict is not None or not losses.native:
        written["strict"] = bool(tool.strict)  # which is true here where nothing is said
    return {**losses.keep(tool.extra), **written}


def _parameters(schema: Json, losses: Losses) -> Json:
    """Return the *schema* of a tool's arguments, which here must say what is in its object."""
    if not schema:
        return _EMPTY_SCHEMA
    if losses.native or not isinstance(schema, Mapping) or schema.get("type") != "object":
        return schema
    return {**schema, "properties": schema.get("properties") or {}}


def found_of(
    tools: Iterable[Tool | Opaque], result: Mapping[str, Json], losses: Losses
) -> list[Json]:
    """Return those of *tools* that a search found, whose *result* names them."""
    names = frozenset(result.get(LOADED, ()))
    return [{**tool_of(tool, losses), DEFERRED: True} for tool in tools if is_one(tool, names)]
