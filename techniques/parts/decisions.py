"""What two tool calls, or two JSON answers, must share to be the same decision."""

from __future__ import annotations

import gc
import json
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import accumulate
from typing import Final

import orjson

from techniques.core.json import Json, JsonObject
from techniques.core.request import ToolCall

_DEEPEST: Final = 64
_LONGEST_CHOICE: Final = 64  # characters; a longer string is prose
_MOST_READ: Final = 100_000  # characters that are compared by what they say, not as written
_CALL: Final = 40  # characters that to read a call takes as long as, whatever it says
_PROSE_NAMES: Final = frozenset(
    {
        "analysis", "comment", "comments", "description", "details", "explanation", "justification",
        "message", "notes", "rationale", "reason", "reasoning", "steps", "summary", "text",
        "thinking", "thought", "thoughts",
    }
)  # fmt: skip


def read_json(text: str) -> Json:
    """Return the JSON value that *text* spells.

    Raises:
        ValueError: It spells none, or one nested too deep to be an answer.
    """
    with _undisturbed():
        value = orjson.loads(text)
    if _depth(text) > _DEEPEST:
        raise ValueError("The JSON value is nested too deep.")
    return value


def canonical_arguments(call: ToolCall, schema: Json) -> Json:
    """Return the arguments of *call* in canonical form, the defaults of *schema* filled in.

    Arguments that are no JSON are returned as their text.
    """
    try:
        value = read_json(call.arguments or "{}")
    except ValueError:
        return call.arguments.strip()
    return canonical(_with_defaults(value, schema, _DEEPEST))


def canonical(value: Json) -> Json:
    """Return *value* with whole floats as integers and strings in NFC without outer space."""
    match value:
        case dict():
            return {key: canonical(inner) for key, inner in sorted(value.items())}
        case list():
            return [canonical(inner) for inner in value]
        case str():
            return unicodedata.normalize("NFC", value).strip()
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def spelled(value: Json) -> str:
    """Return canonical JSON text of *value*."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def names_of(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    """Return the names of *calls*, sorted; a name called twice is there twice."""
    return tuple(sorted(call.name for call in calls))


def actions(calls: Sequence[ToolCall], parameters: Mapping[str, Json]) -> str:
    """Return the key of what *calls* do, whatever their order and spelling.

    Of very many or very long ones it is what they say, as it is written.
    """
    if _size(calls) > _MOST_READ:
        return _written(calls)
    done = ((call.name, canonical_arguments(call, parameters.get(call.name))) for call in calls)
    return ";".join(sorted(f"{name}({spelled(arguments)})" for name, arguments in done))


def fields(
    several: Sequence[Sequence[ToolCall]], parameters: Mapping[str, Json]
) -> list[Mapping[str, Json]]:
    """Return what each of *several* answers' calls say, field by field; see ``agreement``.

    Where they are too long to be taken apart, each is one field.
    """
    if sum(map(_size, several)) > _MOST_READ:
        return [{"": _written(calls)} for calls in several]
    return [dict(_fields(calls, parameters)) for calls in several]


def decisions(texts: Sequence[str], schema: Json) -> list[Mapping[str, Json]]:
    """Return the decisions in each of the JSON *texts* by their paths; see ``agreement``.

    Where they are too long to be taken apart, each is one decision.
    """
    if sum(map(len, texts)) > _MOST_READ:
        return [{"": text.strip()} for text in texts]
    return [_decisions(text, schema) for text in texts]


def agreement(one: Mapping[str, Json], other: Mapping[str, Json]) -> float:
    """Return which share, 0 to 1, of the fields of *one* and *other* have the same value."""
    same = len(one.items() & other.items())
    paths = len(one.keys() | other.keys())
    return same / paths if paths else 1.0


def decision(value: Json, schema: Json) -> str | None:
    """Return the decision in a JSON answer, its prose left out; None if it is all prose."""
    kept = list(_decided(canonical(value), schema, "$"))
    return spelled(dict(kept)) if kept else None


def _written(calls: Sequence[ToolCall]) -> str:
    """Return what stands for *calls*, whatever their order, as they are written."""
    written = sorted((call.name, call.arguments) for call in calls)
    return f"sha256:{sha256(repr(written).encode()).hexdigest()}"


def _size(calls: Sequence[ToolCall]) -> int:
    """Return about how many characters there are to read in *calls*."""
    return sum(_CALL + len(call.arguments) for call in calls)


def _decisions(text: str, schema: Json) -> dict[str, Json]:
    try:
        return dict(_decided(canonical(read_json(text)), schema, "$"))
    except ValueError:
        return {}


def _decided(value: Json, schema: Json, path: str) -> Iterator[tuple[str, Json]]:
    rules = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        known = rules.get("properties")
        known = known if isinstance(known, dict) else {}
        for name, inner in value.items():
            yield from _decided(inner, known.get(name), f"{path}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _decided(inner, rules.get("items"), f"{path}[{place}]")
    elif not isinstance(value, str) or _is_choice(value, rules, path):
        yield path, value


def _is_choice(value: str, rules: JsonObject, path: str) -> bool:
    if {"enum", "const", "format"} & rules.keys():
        return True
    name = path.rpartition(".")[2].partition("[")[0].lower()
    longest = rules.get("maxLength")
    if isinstance(longest, int):
        return longest <= _LONGEST_CHOICE
    return len(value) <= _LONGEST_CHOICE and name not in _PROSE_NAMES


def _fields(calls: Sequence[ToolCall], parameters: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    seen: dict[str, int] = {}
    done = [(call.name, canonical_arguments(call, parameters.get(call.name))) for call in calls]
    for name, arguments in sorted(done, key=lambda pair: (pair[0], spelled(pair[1]))):
        place = seen[name] = seen.get(name, 0) + 1
        yield f"{name}#{place}", "called"
        if isinstance(arguments, dict):
            for field, value in arguments.items():
                yield f"{name}#{place}.{field}", spelled(value)


def _with_defaults(value: Json, schema: Json, depth: int) -> Json:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if depth == 0 or not isinstance(value, dict) or not isinstance(properties, dict):
        return value
    filled = {
        name: _with_defaults(inner, properties.get(name), depth - 1)
        for name, inner in value.items()
    }
    for name, rules in properties.items():
        if name not in filled and isinstance(rules, dict) and "default" in rules:
            filled[name] = rules["default"]
    return filled


def _depth(text: str) -> int:
    """Return how many lists and objects of the JSON *text* stand within each other.

    That is told by its brackets, with no step for each value: of these there may be millions.
    """
    unescaped = text.replace("\\\\", "").replace('\\"', "").encode()
    signs = unescaped.translate(_STEPS, _NO_SIGNS).replace(b'""', b"")
    outside = b"".join(signs.split(b'"')[::2])
    return max(accumulate(array("b", outside)), default=0)


_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # one deeper, one less deep
_NO_SIGNS: Final = bytes(set(range(256)) - set(b'[{]}"'))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let no cycles be looked for among values that have none: there may be millions of them."""
    looked_for = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looked_for:
            gc.enable()
