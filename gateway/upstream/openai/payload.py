"""Reads the JSON that hosts send, also where it is not quite JSON."""

from __future__ import annotations

import json
import re

import orjson

from pricing.usage import counted
from techniques.core.json import Json, JsonObject


def read(data: bytes) -> tuple[Json, bool]:
    """Return the value in *data*, and whether it had to be mended to be strict JSON.

    ``NaN`` and infinities become null, bytes that are no UTF-8 and lone surrogates U+FFFD.

    Raises:
        ValueError: Not even that makes it JSON.
    """
    try:
        return orjson.loads(data), False
    except ValueError:
        text = data.decode("utf-8", "replace")
    try:
        return _clean(json.loads(text, parse_constant=lambda _: None, strict=False)), True
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


def as_object(value: Json) -> JsonObject:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Json) -> list[Json]:
    """Return *value* if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Json) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_index(value: Json) -> int | None:
    """Return *value* if it is a whole number, also one that is written otherwise than as such."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(name): _clean(item) for name, item in value.items()}
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return None  # no writer of JSON takes it
    return None if value in {float("inf"), float("-inf")} else value


def within(whole: int, *parts: int) -> list[int]:
    """Return *parts*, each at most what those before it have left of *whole*."""
    found = []
    for part in parts:
        found.append(min(part, whole))
        whole -= found[-1]
    return found


def count(counts: JsonObject, name: str) -> int:
    """Return the token count that *counts* has under *name*, 0 if it is none."""
    return counted(counts.get(name))
