"""A strict reading of the SDKs' own types: what is missing, unknown, or of another kind.

The SDKs themselves take what they are given. Typed clients of other languages do not.
"""

from __future__ import annotations

import collections.abc
import types
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ByteSize

from techniques.core.json import Json

_LISTS: Final = (list, collections.abc.Sequence, collections.abc.Iterable)
_PLAIN: Final[dict[object, type | tuple[type, ...]]] = {
    str: str,
    int: int,
    ByteSize: int,
    float: (int, float),
    bool: bool,
    type(None): type(None),
}
_TAGS: Final = ("type", "object", "role")

Known = Callable[[type, str], bool]
"""Tells whether a field that the type does not have may be there."""


def faults(kind: Any, value: Json, known: Known = lambda _kind, _field: False) -> list[str]:
    """Return what in *value* is not as the type *kind* of an SDK has it, each with its place."""
    return list(_Reading(known).of(kind, value, "$"))


class _Reading:
    def __init__(self, known: Known) -> None:
        self._known = known

    def of(self, kind: Any, value: Json, at: str) -> Iterator[str]:
        kind = _bare(kind)
        origin, arguments = get_origin(kind), get_args(kind)
        if origin in {Union, types.UnionType}:
            yield from self._union(_members(kind), value, at)
        elif origin is Literal:
            if not any(value == one and type(value) is type(one) for one in arguments):
                yield f"{at}: {value!r} is none of {arguments}"
        elif origin in _LISTS:
            yield from self._list(arguments[0], value, at)
        elif origin in {dict, collections.abc.Mapping}:
            yield from self._object(arguments[1], value, at)
        elif _is_model(kind):
            yield from self._model(kind, value, at)
        elif kind in _PLAIN and not _is_plain(kind, value):
            yield f"{at}: {value!r} is no {kind.__name__}"

    def _union(self, members: list[Any], value: Json, at: str) -> Iterator[str]:
        found = [list(self.of(one, value, at)) for one in _meant(members, value)]
        if all(found):
            yield from min(found, key=len)

    def _list(self, kind: Any, value: Json, at: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{at}: {value!r} is no list"
            return
        for place, one in enumerate(value):
            yield from self.of(kind, one, f"{at}[{place}]")

    def _object(self, kind: Any, value: Json, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no object"
            return
        for name, one in value.items():
            yield from self.of(kind, one, f"{at}.{name}")

    def _model(self, kind: type[BaseModel], value: Json, at: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{at}: {value!r} is no {kind.__name__}"
            return
        fields = {field.alias or name: field for name, field in kind.model_fields.items()}
        for name, field in fields.items():
            if name in value:
                yield from self.of(field.annotation, value[name], f"{at}.{name}")
            elif field.is_required():
                yield f"{at}.{name}: missing in {kind.__name__}"
        for name in value:
            if name not in fields and not self._known(kind, name):
                yield f"{at}.{name}: unknown to {kind.__name__}"


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _is_plain(kind: Any, value: Json) -> bool:
    return isinstance(value, _PLAIN[kind]) and isinstance(value, bool) == (kind is bool)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _members(kind: Any) -> list[Any]:
    kind = _bare(kind)
    if get_origin(kind) in {Union, types.UnionType}:
        return [member for one in get_args(kind) for member in _members(one)]
    return [kind]


def _meant(members: list[Any], value: Json) -> list[Any]:
    """Return those of *members* that *value* says it is, or all."""
    if value is not None:
        members = [one for one in members if one is not type(None)]
    for tag in _TAGS:
        if isinstance(value, dict) and tag in value:
            said = [one for one in members if value[tag] in _tagged(one, tag)]
            if said:
                return said
    return members


def _tagged(kind: Any, tag: str) -> tuple[Any, ...]:
    field = kind.model_fields.get(tag) if _is_model(kind) else None
    return () if field is None else tuple(_literals(field.annotation))


def _literals(kind: Any) -> Iterator[Any]:
    for one in _members(kind):
        if get_origin(one) is Literal:
            yield from get_args(one)
