"""What becomes of each field of a request at providers of each API: the SDKs' own types are asked.

A request with a field is written for a provider, and one without it. Where both are the same and no
warning tells of it, the field was lost in silence. Values are made of the field's type, so that a
field that a new version of an SDK brings is tried unasked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import orjson
from typing_extensions import get_type_hints

from gateway.upstream.provider import HttpCall, Provider, Target
from gateway.upstream.providers.anthropic import Anthropic
from gateway.upstream.providers.openai_chat import OpenAIChat
from gateway.upstream.providers.openai_responses import OpenAIResponses
from gateway.upstream.shared import taken_by
from gateway.wire.anthropic import AnthropicMessages
from gateway.wire.dialect import Dialect
from gateway.wire.openai_chat import OpenAIChat as ChatClients
from gateway.wire.openai_responses import OpenAIResponses as ResponsesClients
from techniques.core.errors import RequestRejected
from techniques.core.json import JsonObject
from tests.translation.places import PLACES, Place
from tests.translation.samples import (
    BESIDE,
    CHAT,
    MESSAGES,
    RESPONSES,
    fields_of,
    is_required,
    members,
    value_of,
)

_CLIENTS: Final[Mapping[str, Dialect]] = {
    CHAT: ChatClients(),
    RESPONSES: ResponsesClients(),
    MESSAGES: AnthropicMessages(),
}


@dataclass(frozen=True, eq=False)
class Upstream:
    """A kind of provider; *title* is what the document calls it."""

    title: str
    provider: Provider
    target: Target


def _upstream(title: str, provider: Provider, vendor: str = "") -> Upstream:
    return Upstream(title, provider, Target("m", "p", "m", takes=taken_by(vendor)))


UPSTREAMS: Final = (
    _upstream("OpenAI's chat completions", OpenAIChat(), "openai"),
    _upstream("those of others", OpenAIChat()),
    _upstream("Responses", OpenAIResponses()),
    _upstream("Anthropic", Anthropic()),
)


@dataclass(frozen=True)
class Outcome:
    """What became of a field: *said* are the fields in which a provider's body differs.

    ``refused`` is the code of the error, "" if there is none.
    """

    said: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    refused: str = ""

    @property
    def silent(self) -> bool:
        """Whether nothing tells of it."""
        return not (self.said or self.lost or self.refused)


def outcome(
    client: str, bodies: tuple[JsonObject, JsonObject], upstream: Upstream, *, strict: bool
) -> Outcome:
    """Return what becomes of that in which the first of *bodies* differs from the other."""
    try:
        call, plain = (_sent(client, body, upstream) for body in bodies)
        if strict:
            _sent(client, bodies[0], upstream, strict=True)
    except RequestRejected as refused:
        return Outcome(refused=refused.code or "invalid_request")
    said, before = orjson.loads(call.body), orjson.loads(plain.body)
    changed = {name for name in said.keys() | before.keys() if said.get(name) != before.get(name)}
    warned = [one for one in call.warnings if one not in plain.warnings]
    return Outcome(tuple(sorted(changed)), tuple(sorted({one.code for one in warned})))


def _sent(client: str, body: JsonObject, upstream: Upstream, *, strict: bool = False) -> HttpCall:
    """Return the call that asks *upstream* what *body* asks, in full, as techniques have it."""
    asked = {"model": "m", **body}
    request = _CLIENTS[client].decode(asked, orjson.dumps(asked)).relay.decode()
    return upstream.provider.encode(replace(request, strict=strict), upstream.target)


_NAMES: Final = {"ItemReference": "item_reference", "ToolParam": "custom"}
"""By type, what objects are called that do not say what they are."""


@dataclass(frozen=True)
class Field:
    """One field of what stands at a *place*; of its object, if *name* is empty."""

    place: Place
    kind: Any
    name: str = ""

    @property
    def told(self) -> str:
        """Its path, for people."""
        return ".".join(filter(None, [self.place.client, self.place.name, self._which, self.name]))

    @property
    def _which(self) -> str:
        """What tells its object from others at the same place, "" if there are none."""
        if len(list(members(self.place.kind))) == 1:
            return ""
        head = fields_of(self.kind)
        return str(_NAMES.get(self.kind.__name__) or head.get("type") or head.get("role"))

    def at(self, upstream: Upstream, *, strict: bool = False) -> Outcome:
        """Return what becomes of it at *upstream*; *strict*: a loss is an error."""
        return outcome(self.place.client, self._bodies(), upstream, strict=strict)

    def _bodies(self) -> tuple[JsonObject, JsonObject]:
        """Return the body of a request with it, and of one without."""
        put = self.place.put
        if not self.name:
            return put(fields_of(self.kind)), self.place.base
        if not self.place.name:
            hint = get_type_hints(self.kind, include_extras=True)[self.name]
            beside = BESIDE.get((self.place.client, self.name), {})
            told = {**beside, self.name: value_of(self.name, hint, self.kind)}
            return put(told), put(beside)
        return put(fields_of(self.kind, self.name)), put(fields_of(self.kind))


@cache
def fields() -> tuple[Field, ...]:
    """Return each field of each place, after the object in which it is."""
    return tuple(_fields())


def _fields() -> Iterator[Field]:
    for place in PLACES:
        for kind in members(place.kind):
            if place.name:
                yield Field(place, kind)
            for name, hint in get_type_hints(kind, include_extras=True).items():
                if not place.name or not is_required(hint):
                    yield Field(place, kind, name)


@cache
def outcomes(upstream: Upstream) -> Mapping[Field, Outcome]:
    """Return what becomes of each field at *upstream*.

    With an object that is refused, or told of as lost or as something else, go its fields.
    """
    found: dict[Field, Outcome] = {}
    for field in fields():
        whole = found.get(replace(field, name="")) if field.place.name else None
        found[field] = whole if whole and (whole.refused or whole.lost) else field.at(upstream)
    return found
