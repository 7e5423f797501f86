"""Sampling, tools and the form of the answer, as this API asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gateway.upstream.openai.closed import is_closed
from gateway.upstream.openai.losses import Losses, refuse
from gateway.upstream.openai.payload import as_list
from gateway.upstream.providers.openai_responses.names import LOGPROBS
from gateway.upstream.providers.openai_responses.tools import custom_tools, is_one, tool_of
from gateway.upstream.searching import OPTIONS
from gateway.upstream.searching import tool_of as search_of
from gateway.upstream.shared import OF_BOTH
from techniques.core.free_form import TYPE
from techniques.core.json import Json, JsonObject
from techniques.core.request import Request, ResponseFormat, Sampling
from techniques.core.tool_search import loaded_by

_LEAST_LIMIT: Final = 16
"""The lowest output limit that the API takes."""
TAKES: Final = OF_BOTH | {"metadata", "store"}
"""Fields that chat completions have, too, under the same names and with the same meaning."""
_FEATURES: Final = frozenset({"audio", "functions", "function_call"})


def sampling(asked: Sampling, body: JsonObject, losses: Losses) -> None:
    """Write how to draw the answer into *body*; where it stops, its reader sees to."""
    if asked.n > 1:
        raise refuse("more than one choice", "n")
    lost = {
        "top_k": asked.top_k,
        "seed": asked.seed,
        "presence_penalty": asked.presence_penalty or None,
        "frequency_penalty": asked.frequency_penalty or None,
    }
    for name, value in lost.items():
        if value is not None:
            losses.drop("field_dropped", name)
    limit = asked.max_output_tokens
    if limit is not None and limit < _LEAST_LIMIT:
        losses.drop("max_tokens_raised", "max_output_tokens")
        limit = _LEAST_LIMIT
    values = {
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "max_output_tokens": limit,
    }
    body.update({name: value for name, value in values.items() if value is not None})
    if asked.logprobs:
        body["top_logprobs"] = asked.top_logprobs or 0
        include(LOGPROBS, body)


def include(what: str, body: JsonObject) -> None:
    """Ask in *body* for *what*, which the API leaves out of an answer by itself."""
    asked = as_list(body.get("include"))
    if what not in asked:
        body["include"] = [*asked, what]


def tools(request: Request, body: JsonObject, losses: Losses) -> None:
    """Write the tools and whether they may be called into *body*."""
    if not request.tools:
        return
    found = loaded_by(request.messages)  # which the conversation tells of
    body["tools"] = [tool_of(tool, losses) for tool in request.tools if not is_one(tool, found)]
    choice = request.tool_choice
    if choice is None:
        return
    if choice.mode == "named":
        kind = TYPE if choice.name in custom_tools(request) else "function"
        body["tool_choice"] = {"type": kind, "name": choice.name}
    elif choice.mode != "auto":
        body["tool_choice"] = choice.mode
    if choice.parallel is not None:
        body["parallel_tool_calls"] = choice.parallel


def form(wanted: ResponseFormat | None, body: JsonObject, losses: Losses) -> None:
    """Write the form of the answer into *body*."""
    if wanted is None:
        return
    told: JsonObject = {"type": wanted.kind}
    if wanted.kind == "json_schema":
        told |= {"name": wanted.name or "answer", "schema": wanted.schema or {"type": "object"}}
        strict = wanted.strict
        if strict is None and not losses.native:
            strict = is_closed(wanted.schema) or None  # where it came from, a schema is enforced
        if strict is not None:
            told["strict"] = strict
        if wanted.description is not None:
            told["description"] = wanted.description
    body["text"] = {"format": told}


def extra(request: Request, body: JsonObject, losses: Losses) -> None:
    """Write the fields that have no name inside into *body*, as far as this API has them."""
    for name, value in request.extra.items():
        if losses.native and name == "tool_choice":
            body[name] = value  # one of its own, for which what is said of it is a stand-in
        elif losses.native:
            _merge(name, value, body)
        elif name == "verbosity":
            _merge("text", {"verbosity": value}, body)
        elif name == OPTIONS and isinstance(value, Mapping):
            body["tools"] = [*as_list(body.get("tools")), search_of(value)]
        elif _is_feature(name, value):
            raise refuse(name, name)
        elif name in losses.takes and _means_the_same(name, request.dialect):
            body[name] = value
        else:
            losses.drop("field_dropped", name)


def _means_the_same(name: str, dialect: str) -> bool:
    """Tell whether the field *name* of *dialect* is that of this API, not just called so."""
    return dialect == "openai_chat" or name == "service_tier"


def _merge(name: str, value: Json, body: JsonObject) -> None:
    own = body.get(name)
    if isinstance(value, Mapping) and isinstance(own, dict):
        body[name] = {**value, **own}
    elif isinstance(value, list) and isinstance(own, list):
        body[name] = [*value, *(one for one in own if one not in value)]
    else:
        body.setdefault(name, value)


def _is_feature(name: str, value: Json) -> bool:
    if name == "modalities":
        return value not in (None, [], ["text"])
    return name in _FEATURES and bool(value)
