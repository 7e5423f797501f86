"""Answers that a program can read: their schema, and how they are read."""

from __future__ import annotations

from typing import Final

from techniques.core.json import JsonObject
from techniques.parts.decisions import read_json

_LONGEST: Final = 200_000
"""Characters. Who is asked for a verdict and writes a book has given none."""


def object_schema(properties: JsonObject) -> JsonObject:
    """Return the schema of an object with all of *properties* and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_object(text: str) -> JsonObject | None:
    """Return the JSON object that *text* is, or that it has between first and last brace."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or not start < end < start + _LONGEST:
        return None
    try:
        value = read_json(text[start : end + 1])
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
