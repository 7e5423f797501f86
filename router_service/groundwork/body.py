"""From the bytes of a request to a JSON object, strictly.

Refused: what is no UTF-8 or no JSON, lone surrogates, NaN and Infinity (orjson does these), names
that stand twice in one object, and depth beyond 64. Two readers of a body that differ in such
things would see two requests; a gateway that checks one and sends the other can be talked past.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 64
_MOST_SHOWN: Final = 64
_SHORT: Final = 1024


class Unreadable(ValueError):
    """It is no strict JSON object; ``param`` is the name that stands twice in it."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


def parse(raw: bytes) -> dict[str, Any]:
    """Return the object that *raw* spells.

    Raises:
        Unreadable: It is no strict JSON object.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Unreadable(f"The body is not valid JSON: {error.msg}.") from None
    if not isinstance(body, dict):
        raise Unreadable("The body must be a JSON object.")
    if _is_shallow(raw):
        once = orjson.dumps(body) == raw or raw.count(b":") == _count_names(body, MAX_DEPTH)
    else:  # of a long one the colons are counted in a tenth of the time that writing it takes
        once = raw.count(b":") == _count_names(body, MAX_DEPTH) or orjson.dumps(body) == raw
    if not once:
        _refuse_twins(raw)
    return body


def _is_shallow(raw: bytes) -> bool:
    """Return whether *raw* is surely not too deep: so few brackets are no depth.

    In a long one they would take longer to count than the names.
    """
    return len(raw) <= _SHORT and raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH


def _count_names(value: dict[str, Any] | list[Any], depth: int) -> int:
    """Return how many names the objects within *value* have together.

    Raises:
        Unreadable: It is deeper than *depth*.
    """
    if not depth:
        raise Unreadable(f"The body is nested deeper than {MAX_DEPTH} levels.")
    names = len(value) if isinstance(value, dict) else 0
    for part in value.values() if isinstance(value, dict) else value:
        if part.__class__ is dict or part.__class__ is list:
            names += _count_names(part, depth - 1)
    return names


def _refuse_twins(raw: bytes) -> None:
    """Read *raw* again with a parser that sees every name.

    Only when cheaper ways did not settle it: a body that is written back as it came has lost
    nothing; and as many colons as names leave no room for a twin, but one may stand in a text.
    """
    json.loads(raw, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                shown = name[:_MOST_SHOWN]
                raise Unreadable(f"The name {shown!r} stands twice in one object.", shown)
            seen.add(name)
    return read
