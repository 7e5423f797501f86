"""What a run, a step and a plan are known by. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

import orjson

from gateway.policy.familiar.rows import is_kept as is_familiar
from gateway.policy.wishes import PREFIX
from techniques.core.json import Json
from techniques.core.request import Request

VERSION: Final = 1
"""Of what a step's key is made of: it changes with the prompts of techniques."""
_TRACE: Final = frozenset({"stream", "stream_options", "metadata", "user", "store"})
_OWN: Final = frozenset({"x-lockgate-run", "x-lockgate-max-wait-ms", "x-lockgate-on-limit"})
_FORWARDED: Final = ("anthropic-beta", "anthropic-version")
_SORTED: Final = orjson.OPT_SORT_KEYS


def body_hash(path: str, raw: bytes, headers: Mapping[str, str]) -> str:
    """Return what tells whether a request is the same again: its body and its wishes."""
    said = sorted((n, v) for n, v in headers.items() if n.startswith(PREFIX) and n not in _OWN)
    return hashlib.sha256(orjson.dumps([path, said]) + raw).hexdigest()


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return those of *headers* with which a request is carried out once more."""
    return {
        name: value
        for name, value in headers.items()
        if name in _FORWARDED
        or (name.startswith(PREFIX) and name != f"{PREFIX}run")
        or is_familiar(name)
    }


def plan_hash(*of: Json) -> str:
    """Return what tells whether the same would be done: of values that decide it."""
    return _hashed([VERSION, *of])


def conversation_hash(request: Request) -> str:
    """Return what tells whether the same is asked but for the settings: it is long."""
    if request.relay is not None:
        body = request.relay.body
        return _hashed([name_value for name_value in body.items() if name_value[0] not in _TRACE])
    return _hashed([request.messages, request.tools])


class Talks:
    """The hashes of what is asked, which many calls of a run share."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[object, str]] = {}

    def of(self, request: Request) -> str:
        """Return the ``conversation_hash`` of *request*."""
        if request.relay is not None:
            return conversation_hash(request)
        said = request.messages, request.tools
        which = id(said[0]), id(said[1])
        known = self._known.get(which)
        if known is None:  # which keeps them alive, so that no other gets their ids
            known = self._known[which] = said, conversation_hash(request)
        return known[1]


def step_key(run: Sequence[str], path: str, request: Request, of: Sequence[str]) -> str:
    """Return what a step is known by: of the run, its place, what is asked, and of which model.

    Fields that change nothing about the answer (streaming, metadata, roles for the trace) are left
    out. *of* are the model and the hash of the conversation.
    """
    extra = {name: value for name, value in request.extra.items() if name not in _TRACE}
    settings = [
        request.tool_choice,
        request.response_format,
        request.sampling,
        request.thinking,
        request.strict,
        request.dialect,
    ]
    return _hashed([VERSION, list(run), path, list(of), settings, extra])


def derived(secret: str, purpose: str) -> str:
    """Return 64 hex digits that are the same each time a run is carried out."""
    return hashlib.sha256(f"{secret}|{purpose}".encode()).hexdigest()


def _hashed(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, default=_plain, option=_SORTED)).hexdigest()


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple | frozenset | set):
        return sorted(value) if isinstance(value, frozenset | set) else list(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    return str(value)
