"""Reads single fields of a client's JSON and rejects wrong ones by name."""

from __future__ import annotations

from collections.abc import Mapping

from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject

NAME = "openai_chat"
Fields = Mapping[str, Json]


def wrong(param: str, should: str) -> RequestRejected:
    """Return the error of a field that is not what it *should* be."""
    return RequestRejected(f"{param!r} must be {should}.", code="invalid_value", param=param)


def text(fields: Fields, name: str, at: str = "") -> str | None:
    """Return a string, None if it is null or absent; *at* is the path before *name*."""
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise wrong(at + name, "a string")
    return value


def required(fields: Fields, name: str, at: str = "") -> str:
    """Return a string that must be there and not empty."""
    value = text(fields, name, at)
    if not value:
        raise wrong(at + name, "a string that is not empty")
    return value


def flag(fields: Fields, name: str, at: str = "") -> bool | None:
    """Return a boolean, None if it is null or absent."""
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise wrong(at + name, "true or false")
    return value


def integer(fields: Fields, name: str, least: int | None = None) -> int | None:
    """Return an integer not below *least*, None if it is null or absent."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or (least and value < least):
        raise wrong(name, f"an integer of at least {least}" if least else "an integer")
    return value


def number(fields: Fields, name: str) -> float | None:
    """Return a number, None if it is null or absent."""
    value = fields.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise wrong(name, "a number")
    return value


def thing(fields: Fields, name: str, at: str = "") -> JsonObject | None:
    """Return an object, None if it is null or absent."""
    value = fields.get(name)
    if value is not None and not isinstance(value, dict):
        raise wrong(at + name, "an object")
    return value


def items(fields: Fields, name: str, at: str = "") -> list[Json]:
    """Return a list, an empty one if it is null or absent."""
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise wrong(at + name, "a list")
    return value


def rest(fields: Fields, known: frozenset[str]) -> JsonObject:
    """Return the fields whose names are not *known*."""
    return {name: value for name, value in fields.items() if name not in known}
