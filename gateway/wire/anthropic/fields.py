"""Reads fields of a client's JSON, and rejects what has the wrong type by its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NoReturn, overload

from techniques.core.errors import RequestRejected
from techniques.core.json import NOTHING, Json, JsonObject


def reject(path: str, wanted: str) -> NoReturn:
    """Raise that the field at *path* must be *wanted*."""
    raise RequestRejected(f"{path}: must be {wanted}.", param=path)


def an_object(value: Json, path: str) -> JsonObject:
    """Return *value* if it is an object."""
    return value if isinstance(value, dict) else reject(path, "an object")


def a_list(value: Json, path: str) -> list[Json]:
    """Return *value* if it is a list."""
    return value if isinstance(value, list) else reject(path, "a list")


def a_string(value: Json, path: str) -> str:
    """Return *value* if it is a string."""
    return value if isinstance(value, str) else reject(path, "a string")


@overload
def integer(body: Mapping[str, Json], name: str, *, least: int) -> int | None: ...
@overload
def integer(body: Mapping[str, Json], name: str, *, least: int, required: Literal[True]) -> int: ...
def integer(
    body: Mapping[str, Json], name: str, *, least: int, required: bool = False
) -> int | None:
    """Return the integer *name* of *body*, None if it is absent and not *required*."""
    value = body.get(name)
    if value is None and not required:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        reject(name, f"an integer of at least {least}")
    return value


def number(body: Mapping[str, Json], name: str) -> float | None:
    """Return the number *name* of *body*, None if it is absent."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        reject(name, "a number")
    return value


def flag(body: Mapping[str, Json], name: str, path: str | None = None) -> bool | None:
    """Return the boolean *name* of *body*, None if it is absent."""
    value = body.get(name)
    if value is None or isinstance(value, bool):
        return value
    return reject(path or name, "true or false")


def string(body: Mapping[str, Json], name: str, path: str) -> str | None:
    """Return the string *name* of *body*, which stands at *path*; None if it is absent."""
    value = body.get(name)
    return None if value is None else a_string(value, f"{path}.{name}" if path else name)


def rest(body: Mapping[str, Json], known: frozenset[str]) -> Mapping[str, Json]:
    """Return the fields of *body* that are not *known*."""
    if body.keys() <= known:
        return NOTHING
    return {name: value for name, value in body.items() if name not in known}
