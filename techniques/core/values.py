"""What values an option takes, in words, from its JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from techniques.core.json import Json, JsonObject


def values_of(field: JsonObject) -> str:
    """Return the values that the schema *field* allows, in Markdown; "" if it does not say."""
    if "anyOf" in field:
        return " or ".join(values_of(choice) for choice in field["anyOf"])
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "boolean":
        return "`true`, `false`"
    least = field.get("minimum", field.get("exclusiveMinimum"))
    if least is not None:
        return _range(least, field.get("maximum"), field.get("exclusiveMaximum"))
    kind = str(field.get("type", "object" if "$ref" in field else ""))
    return "a list" if kind == "array" else kind


def _range(least: Json, most: Json, below: Json) -> str:
    if below is not None:
        return f"{plain(least)} to less than {plain(below)}"
    return f"at least {plain(least)}" if most is None else f"{plain(least)} to {plain(most)}"


def plain(value: object) -> str:
    """Return *value* as a person would write it: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def field_at(schema: JsonObject, path: Sequence[int | str]) -> JsonObject:
    """Return what *schema* says of the value at *path*; {} if it says nothing of it."""
    defined = schema.get("$defs", {})
    found = [schema]
    for part in path:
        whole = [one for outer in found for one in _choices(outer, defined)]
        found = [inner for outer in whole for inner in _inside(outer, part)]
    return next((one for outer in found for one in _choices(outer, defined)), {})


def names_in(schema: JsonObject) -> list[str]:
    """Return the names of the fields that an object of *schema* has."""
    return list(schema.get("properties", {}))


def _choices(schema: JsonObject, defined: JsonObject) -> Iterator[JsonObject]:
    """Yield *schema*, or what it stands for."""
    if "$ref" in schema:
        yield from _choices(defined.get(schema["$ref"].rpartition("/")[2], {}), defined)
    elif "anyOf" in schema and not any("enum" in one for one in schema["anyOf"]):
        for choice in schema["anyOf"]:
            if choice.get("type") != "null":
                yield from _choices(choice, defined)
    else:
        yield schema


def _inside(schema: JsonObject, part: int | str) -> Iterator[JsonObject]:
    """Yield what *schema* says of its *part*."""
    if isinstance(part, int):
        places = schema.get("prefixItems", [])
        inner = places[part] if part < len(places) else schema.get("items")
    else:
        inner = schema.get("properties", {}).get(part, schema.get("additionalProperties"))
    if isinstance(inner, dict):
        yield inner
