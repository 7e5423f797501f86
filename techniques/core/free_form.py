"""Tools whose input is free text: inside, and to most providers, functions of one parameter.

A Responses client calls them custom tools. Their ``Tool`` and ``ToolCall`` say so in ``extra``, in
the client's own words (``type``, and the ``format`` of the input).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from techniques.core.json import Json, JsonObject

TYPE: Final = "custom"
_PARAMETER: Final = "input"


def is_free_form(extra: Mapping[str, Json]) -> bool:
    """Tell whether the tool, or the call of one, with this *extra* takes free text."""
    return extra.get("type") == TYPE


def parameters(form: Json) -> JsonObject:
    """Return the schema of the function that stands for a tool whose input has this *form*."""
    told = "The whole input, as plain text."
    if isinstance(form, dict) and isinstance(form.get("definition"), str):
        syntax = form.get("syntax")
        told += f" It must match this {syntax} grammar:\n{form['definition']}"
    return {
        "type": "object",
        "properties": {_PARAMETER: {"type": "string", "description": told}},
        "required": [_PARAMETER],
        "additionalProperties": False,
    }


def wrapped(text: str) -> str:
    """Return the arguments of a call whose input is *text*."""
    return orjson.dumps({_PARAMETER: text}).decode()


def unwrapped(arguments: str) -> str:
    """Return the input that *arguments* carry; what a model wrote otherwise stays as it is."""
    try:
        read = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
    text = read.get(_PARAMETER) if isinstance(read, dict) else None
    return text if isinstance(text, str) else arguments
