"""A client's own search for tools: inside, and to most providers, a function that it carries out.

A Responses client has a tool of this type, and answers a call of it with tools that may be called
from then on. Its ``Tool``, ``ToolCall`` and ``ToolResult`` say so in ``extra``; the result names
there which of the request's tools it loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import orjson

from techniques.core.json import Json, JsonObject
from techniques.core.request import Message, ToolResult

TYPE: Final = "tool_search"
CLIENT: Final = "client"
"""Who searches; where nobody is named, it is the provider."""
LOADED: Final = "loaded"
DEFERRED: Final = "defer_loading"
PARAMETERS: Final[JsonObject] = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": "What the tools are to do."}},
    "required": ["query"],
    "additionalProperties": False,
}


def is_search(extra: Mapping[str, Json]) -> bool:
    """Tell whether the tool, the call of one or its result with this *extra* is a search."""
    return extra.get("type") == TYPE


def is_clients(value: Json) -> bool:
    """Tell whether *value*, a tool or an item, is of a search that the client carries out."""
    return isinstance(value, dict) and value.get("execution") == CLIENT


def loaded_by(messages: Iterable[Message]) -> frozenset[str]:
    """Return the names of the tools that searches in *messages* loaded."""
    return frozenset(
        name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolResult) and is_search(part.extra)
        for name in part.extra.get(LOADED, ())
    )


def read_arguments(text: str) -> Json:
    """Return what the model searches by: an object, or what it wrote where that is none."""
    try:
        read = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return text
    return read if isinstance(read, dict) else text


def write_arguments(given: Json) -> str:
    """Return the arguments of a call as the text that a model would write."""
    return given if isinstance(given, str) else orjson.dumps(given).decode()
