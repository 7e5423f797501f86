"""Values of the types of answers that the SDKs have, each of which tells something."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from techniques.core.json import Json, JsonObject

_PLAIN: Final[Mapping[Any, Json]] = {
    bool: True,
    int: 7,
    float: 0.5,
    datetime: "2026-01-01T00:00:00Z",
}
_VALUES: Final[Mapping[str, Json]] = {
    "arguments": '{"a":1}',
    "end_index": 12,
    "start_index": 0,
    "result": "AAAA",
    "service_tier": "priority",
    "speed": "fast",
    "status": "completed",
    "url": "https://a.test/b",
}
"""Values of fields of which the type alone does not tell what is read."""
_GIVEN: Final[Mapping[str, JsonObject]] = {
    "Choice": {"index": 0},
    "Message": {"diagnostics": {"cache_miss_reason": {"type": "model_changed"}}},
    "ResponseOutputText": {"annotations": []},
    "ChatCompletionAudio": {"id": "audio_1", "data": "AAAA"},
    "ResponseOutputMessage": {"phase": "commentary"},
    "CallerDirect": {"type": "program", "caller_id": "a"},
    "DirectCaller": {"type": "code_execution_20250825", "tool_id": "a"},
    "CompletionUsage": {"prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 40},
    "ResponseUsage": {"input_tokens": 20, "output_tokens": 20, "total_tokens": 40},
}
"""By type, values of its fields that tell something, or are valid."""


def sampled(kind: Any) -> Json:
    """Return a value of the type *kind*: of several the last that is no null."""
    origin = get_origin(kind)
    if origin is Annotated:
        return sampled(get_args(kind)[0])
    if origin in {Union, types.UnionType}:
        kinds = [one for one in get_args(kind) if one is not type(None)]
        return "a" if str in kinds else sampled(kinds[-1])
    return _composed(kind, origin)


def _composed(kind: Any, origin: Any) -> Json:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return fields_of(kind)
    if origin is Literal:
        return get_args(kind)[-1]
    if origin is dict:
        return {"a": sampled(get_args(kind)[1])}
    return [sampled(get_args(kind)[0])] if origin is list else _PLAIN.get(kind, "a")


def fields_of(kind: type[BaseModel], *more: str) -> JsonObject:
    """Return an object of the type *kind* with its required fields, and *more* of them."""
    return {
        named(name, info): value_of(kind, name)
        for name, info in kind.model_fields.items()
        if info.is_required() or name in more
    }


def value_of(kind: type[BaseModel], name: str) -> Json:
    """Return a value for the field *name* of *kind*."""
    given = _GIVEN.get(kind.__name__, {})
    if name in given:
        return given[name]
    made = sampled(kind.model_fields[name].annotation)
    known = name in _VALUES and not isinstance(made, dict | list)  # the same name may be another
    return _VALUES[name] if known else made


def named(name: str, info: FieldInfo) -> str:
    """Return what the field *name* is called in JSON."""
    return info.alias or name


def members(kind: Any) -> Iterator[type[BaseModel]]:
    """Yield the types of objects that *kind* may be, or its values may."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
        return
    for one in get_args(kind):
        yield from members(one)


def words(kind: Any) -> Iterator[str]:
    """Yield the words that a field of the type *kind* may be."""
    for one in get_args(kind):
        if isinstance(one, str):
            yield one
        else:
            yield from words(one)
