"""From the bytes of a request to a JSON object, strictly.

Refused: what is no UTF-8 or no JSON, lone surrogates, NaN and Infinity (orjson does these), names
that stand twice in one object, and depth beyond 64. Two readers of a body that differ in such
things would see two requests; a gateway that checks one and sends the other can be talked past.
"""

from __future__ import annotations

import json
from typing import Final

import orjson

from techniques.core.errors import RequestRejected
from techniques.core.json import Json, JsonObject

MAX_DEPTH: Final = 64
_MOST_SHOWN: Final = 64


def parse(raw: bytes) -> JsonObject:
    """Return the object that *raw* spells.

    Raises:
        RequestRejected: It is no strict JSON object.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise RequestRejected(f"The body is not valid JSON: {error.msg}.") from None
    if not isinstance(body, dict):
        raise RequestRejected("The body must be a JSON object.")
    names = _count_names(body, MAX_DEPTH)
    if orjson.dumps(body) != raw and raw.count(b":") != names:
        _refuse_twins(raw)
    return body


def _count_names(value: dict[str, Json] | list[Json], depth: int) -> int:
    """Return how many names the objects within *value* have together.

    Raises:
        RequestRejected: It is deeper than *depth*.
    """
    if not depth:
        raise RequestRejected(f"The body is nested deeper than {MAX_DEPTH} levels.")
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


def _object(pairs: list[tuple[str, Json]]) -> JsonObject:
    read = dict(pairs)
    if len(read) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                shown = name[:_MOST_SHOWN]
                raise RequestRejected(
                    f"The name {shown!r} stands twice in one object.", param=shown
                )
            seen.add(name)
    return read
