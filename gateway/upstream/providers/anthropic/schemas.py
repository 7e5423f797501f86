"""Brings a schema that another dialect holds answers to into the form that Anthropic takes.

Anthropic wants every object closed, and refuses bounds of numbers, texts and lists; OpenAI takes
them, and so its clients send them. What cannot be enforced is told to the model in the
description, as Anthropic's own SDK does it.

Source: platform.claude.com/docs/en/build-with-claude/structured-outputs, read in November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import orjson

from techniques.core.json import Json, JsonObject

_UNTAKEN: Final = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *("minLength", "maxLength", "maxItems", "uniqueItems", "contains"),
        *("minProperties", "maxProperties", "patternProperties", "propertyNames"),
    }
)
_FORMATS: Final = frozenset(
    {
        *("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6"),
        "uuid",
    }
)
_UNTAKEN_PATTERN: Final = re.compile(r"\(\?[=!<]|\\[bB1-9]")
"""What looks around, and what refers back."""
_MAPS: Final = ("properties", "$defs", "definitions")
_LISTS: Final = ("anyOf", "allOf")


Drop: TypeAlias = Callable[[str], None]
"""Takes the name of what is told but not enforced."""


def held(schema: Json, drop: Drop) -> Json:
    """Return *schema* as Anthropic can hold an answer to it; itself, if it is no object."""
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:  # what stands beside it is not taken
        return {
            name: _held(name, schema[name], drop) for name in schema if name in {"$ref", *_MAPS}
        }
    schema = _unwrapped(schema)
    kept = {name: _held(name, value, drop) for name, value in schema.items() if _takes(name, value)}
    told = {name: value for name, value in schema.items() if not _takes(name, value)}
    for name in told:
        drop(name)
    if schema.get("properties") and not isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = False
    return _described(kept, told) if told else kept


def _unwrapped(schema: JsonObject) -> JsonObject:
    """Return *schema* without an ``allOf`` of one, and with its ``oneOf`` under the known name."""
    alone = schema.get("allOf")
    if isinstance(alone, list) and len(alone) == 1 and isinstance(alone[0], dict):
        others = {name: value for name, value in schema.items() if name != "allOf"}
        return {"$ref": alone[0]["$ref"]} if "$ref" in alone[0] else {**alone[0], **others}
    if "oneOf" not in schema or "anyOf" in schema:
        return schema
    return {"anyOf" if name == "oneOf" else name: value for name, value in schema.items()}


def _held(name: str, value: Json, drop: Drop) -> Json:
    if name in _MAPS and isinstance(value, dict):
        return {one: held(schema, drop) for one, schema in value.items()}
    if name in _LISTS and isinstance(value, list):
        return [held(schema, drop) for schema in value]
    return held(value, drop) if name in {"items", "additionalProperties"} else value


def _takes(name: str, value: Json) -> bool:
    special = _SPECIAL.get(name)
    return name not in _UNTAKEN if special is None else special(value)


_SPECIAL: Final[Mapping[str, Callable[[Json], bool]]] = {
    "format": lambda value: isinstance(value, str) and value in _FORMATS,
    "minItems": lambda value: isinstance(value, int) and value in {0, 1},
    "pattern": lambda value: isinstance(value, str) and not _UNTAKEN_PATTERN.search(value),
}


def _described(kept: JsonObject, told: JsonObject) -> JsonObject:
    """Return *kept* with what is *told* of it alone at the end of its description."""
    before = kept.get("description")
    rules = ", ".join(f"{name}: {orjson.dumps(value).decode()}" for name, value in told.items())
    lead = f"{before}\n\n" if isinstance(before, str) and before else ""
    return {**kept, "description": f"{lead}{{{rules}}}"}
