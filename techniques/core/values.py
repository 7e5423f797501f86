"""What values an option takes, in words, from its JSON schema."""

from __future__ import annotations

import orjson

from techniques.core.json import JsonObject


def values_of(field: JsonObject) -> str:
    """Return the values that the schema *field* allows, in Markdown; "" if it does not say."""
    if "anyOf" in field:
        return " or ".join(values_of(choice) for choice in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "boolean":
        return "`true`, `false`"
    least = field.get("minimum", field.get("exclusiveMinimum"))
    most = field.get("maximum")
    if least is not None:
        return f"{plain(least)} to {plain(most)}"
    kind = str(field.get("type", "object" if "$ref" in field else ""))
    return "a list" if kind == "array" else kind


def plain(value: object) -> str:
    """Return *value* as a person would write it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
