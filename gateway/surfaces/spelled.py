"""What a request asks for and wishes, in whichever gateway's words it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import orjson

from gateway.planning.plan import AUTO, NONE
from gateway.planning.planner import Planner
from gateway.policy.familiar.asked import wishes_of
from gateway.policy.familiar.reading import find
from gateway.policy.keys import Caller
from gateway.policy.models import Model
from gateway.policy.wishes import Wishes
from gateway.wire.dialect import Call
from pricing.record import record
from techniques.core.errors import UnknownModel
from techniques.core.json import JsonObject

_OPENROUTER: Final = "openrouter"

Decode: TypeAlias = Callable[[JsonObject, bytes], Call]


@record(frozen=True, slots=True)
class Request:
    """A request as it came, from *caller*."""

    headers: Mapping[str, str]
    body: JsonObject
    raw: bytes
    caller: Caller


@record(frozen=True, slots=True)
class _Names:
    """The names of models, as they are understood for one caller."""

    planner: Planner
    caller: Caller

    @property
    def held(self) -> bool:
        """Whether the caller is held to some models."""
        return self.caller.models is not None

    def has(self, name: str) -> bool:
        """Return whether there is a model called so, a technique before it or not."""
        return self._find(name) is not None

    def takes_over(self, name: str) -> bool:
        """Return whether it is asked at OpenRouter, which reads its own words itself."""
        model = self._find(name)
        return model is not None and model.account.vendor.name == _OPENROUTER

    def slug(self, name: str) -> str | None:
        """Return the technique in *name*."""
        first, slash, _ = name.partition("/")
        known = first in self.planner.cards or first in (NONE, AUTO)
        return first if slash and known else None

    def _find(self, name: str) -> Model | None:
        slug = self.slug(name)
        plain = name if slug is None else name.removeprefix(f"{slug}/")
        try:
            return self.planner.catalogue.find(plain)
        except UnknownModel:
            return None


def read(decode: Decode, request: Request, planner: Planner) -> tuple[Call, Wishes]:
    """Return the call that *request* asks for, as *decode* reads it, and what it wishes for.

    What is said in another gateway's words is a wish, and no part of the call.

    Raises:
        RequestRejected: A field or a wish is wrong.
    """
    names = _Names(planner, request.caller)
    found = find(request.headers, request.body, names)
    raw = request.raw if found.body is request.body else orjson.dumps(found.body)
    call = decode(found.body, raw)
    return call, wishes_of(request.headers, call.wishes, found, names.slug(call.model))
