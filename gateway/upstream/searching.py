"""The search of the web that OpenAI's two APIs have, each in its own words.

Chat completions have it with the models that search for each answer, Responses as a tool.
Source: developers.openai.com/api/docs (web search).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from techniques.core.json import Json, JsonObject
from techniques.core.request import Opaque, Request, Tool

OPTIONS: Final = "web_search_options"
_RESPONSES: Final = "openai_responses"
_TOOL: Final = "web_search"
_SIZE: Final = "search_context_size"
_PLACE: Final = "user_location"
_APPROXIMATE: Final = "approximate"
_SAID: Final = frozenset({"type", _SIZE, _PLACE})
_SEARCHES: Final = "-search"


def tool_of(options: Mapping[str, Json]) -> JsonObject:
    """Return the tool of Responses that a chat completion's *options* ask for."""
    tool: JsonObject = {"type": _TOOL}
    if options.get(_SIZE) is not None:
        tool[_SIZE] = options[_SIZE]
    place = options.get(_PLACE)
    near = place.get(_APPROXIMATE) if isinstance(place, Mapping) else None
    if isinstance(near, Mapping):
        tool[_PLACE] = {"type": _APPROXIMATE, **near}
    return tool


def with_options(
    request: Request, model: str, takes: frozenset[str], drop: Callable[[str, str], None]
) -> Request:
    """Return *request* with Responses' tool as a chat completion's options, where *model* searches.

    It is *request* itself where it does not, or its host does not take them. *drop* is told of what
    the options cannot say.

    Raises:
        RequestRejected: The request is strict.
    """
    tools = [tool for tool in request.tools if _is_search(tool)]
    if not tools or OPTIONS not in takes or _SEARCHES not in model:
        return request
    others = tuple(tool for tool in request.tools if not _is_search(tool))
    told: JsonObject = tools[0].value if isinstance(tools[0], Opaque) else {}
    for name in told.keys() - _SAID:
        if told[name] is not None:
            drop("field_dropped", f"tools.{name}")
    return replace(request, tools=others, extra={**request.extra, OPTIONS: _options(told)})


def _options(tool: JsonObject) -> JsonObject:
    place = tool.get(_PLACE)
    options: JsonObject = {} if tool.get(_SIZE) is None else {_SIZE: tool[_SIZE]}
    if isinstance(place, Mapping):
        near = {n: place[n] for n in place if n != "type" and place[n] is not None}
        options[_PLACE] = {"type": _APPROXIMATE, _APPROXIMATE: near}
    return options


def _is_search(tool: Tool | Opaque) -> bool:
    if not isinstance(tool, Opaque) or tool.dialect != _RESPONSES:
        return False
    kind = tool.value.get("type") if isinstance(tool.value, dict) else None
    return isinstance(kind, str) and kind.startswith(_TOOL)
