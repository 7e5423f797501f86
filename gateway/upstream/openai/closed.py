"""Tells whether a JSON schema can be held to in strict mode."""

from __future__ import annotations

from gateway.upstream.openai.payload import as_list
from techniques.core.json import Json


def is_closed(schema: Json) -> bool:
    """Return whether *schema* keeps to what strict mode takes: every object names all it has."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        named = properties.keys() if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False:
            return False
        if named != set(as_list(schema.get("required"))):
            return False
    return all(map(is_closed, schema.values()))
