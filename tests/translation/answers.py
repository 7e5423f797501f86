"""What becomes of each field of an answer for clients of each API: the SDKs' own types are asked.

An answer with a field is read and written for a client, and one without it, plain and streamed.
Where both are the same and no warning tells of it, the field was lost in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, get_args

import orjson
from openai.types.responses import ResponseStreamEvent
from pydantic import BaseModel

from gateway.surfaces.spoken import DIALECTS
from gateway.upstream import provider, providers
from gateway.upstream.provider import Provider, Target
from gateway.wire.dialect import Call, Summary
from gateway.wire.unsaid import unsaid
from pricing.usage import Usage
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Warned
from techniques.core.json import Json, JsonObject
from techniques.core.reply import Fold
from techniques.core.request import Relay, Request
from tests.translation.models import fields_of, members, named, value_of, words
from tests.translation.samples import CHAT, MESSAGES, RESPONSES
from tests.translation.streams import streamed
from tests.translation.wholes import SPOTS, Spot, response

PROVIDERS: Final[Mapping[str, Provider]] = provider.load(providers)
MAKERS: Final = (CHAT, RESPONSES, MESSAGES)
CLIENTS: Final = (CHAT, RESPONSES, MESSAGES, "ollama")
_TARGET: Final = Target("m", "p", "m")
_SUMMARY: Final = Summary(Usage(), 1, None, "unknown", request_id="req_1")
_TIMES: Final = frozenset({"created", "created_at", "completed_at"})
_FAILED: Final = ("error",)


@dataclass(frozen=True)
class Fate:
    """What became of a field: *said* are the fields in which a client's answer differs."""

    said: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def silent(self) -> bool:
        """Whether nothing tells of it."""
        return not (self.said or self.lost)


@dataclass(frozen=True)
class Told:
    """One field of what stands at a *spot*, or the object itself (*name* empty), or a word."""

    spot: Spot
    kind: Any
    name: str = ""

    @property
    def path(self) -> str:
        """Its path, for people."""
        which = self.kind if isinstance(self.kind, str) else self._which
        return ".".join(filter(None, [self.spot.provider, self.spot.name, which, self._called]))

    @property
    def _called(self) -> str:
        return named(self.name, self.kind.model_fields[self.name]) if self.name else ""

    @property
    def _which(self) -> str:
        """What tells its object from others at the same spot, "" if there are none."""
        if len(list(members(self.spot.kind))) == 1:
            return ""
        return str(fields_of(self.kind).get("type") or self.kind.__name__)

    def to(self, client: str, *, stream: bool) -> Fate:
        """Return what becomes of it for a *client*."""
        answers = [self.spot.put(told) for told in self._values()]
        return _fate(self.spot.provider, answers, client, stream=stream)

    def written(self, client: str, *, stream: bool) -> Json:
        """Return what a *client* gets of an answer with it: one object, or those of a stream."""
        maker, answer = self.spot.provider, self.spot.put(self._values()[0])
        raw = streamed(maker, answer) if stream else orjson.dumps(answer)
        return _heard(maker, raw, client, stream=stream)[0]

    def _values(self) -> tuple[Json, Json]:
        """Return what is at the spot with it, and without."""
        kind, base = self.kind, self.spot.base
        if isinstance(kind, str):
            return kind, base
        if not self.name:
            return fields_of(kind), base
        if base is not None:
            return {self._called: value_of(kind, self.name)}, base
        return fields_of(kind, self.name), fields_of(kind)


@cache
def told_of() -> tuple[Told, ...]:
    """Return each field of each spot, after the object in which it is."""
    return tuple(_told_of())


def _told_of() -> Iterator[Told]:
    others = {(spot.provider, spot.name) for spot in SPOTS}
    for spot in SPOTS:
        yield from (Told(spot, word) for word in words(spot.kind))
        for kind in members(spot.kind):
            if spot.base is None:
                yield Told(spot, kind)
            for name, info in kind.model_fields.items():
                found = Told(spot, kind, name)
                path = found.path.removeprefix(f"{spot.provider}.")
                within = any(p == spot.provider and _is_at(n, path) for p, n in others)
                if not within and (spot.base is not None or not info.is_required()):
                    yield found


def _is_at(name: str, path: str) -> bool:
    """Tell whether the spot of that *name* is at *path*, or inside."""
    return name == path or name.startswith(f"{path}.")


@dataclass(frozen=True)
class Happening:
    """An event of a *kind* that OpenAI's SDK knows in the stream of a response."""

    kind: type[BaseModel]

    @property
    def name(self) -> str:
        """What the event is called."""
        return str(fields_of(self.kind)["type"])

    def to(self, client: str) -> Fate:
        """Return what becomes of such a one before the end of a stream for a *client*."""
        event = {**fields_of(self.kind), "output_index": 5}
        return _settled(RESPONSES, client, [(response(), (event,)), (response(), ())])


def happenings() -> list[Happening]:
    """Return the events of a response's stream."""
    return [Happening(kind) for kind in members(get_args(ResponseStreamEvent)[0])]


@cache
def fates(maker: str, client: str, *, stream: bool) -> Mapping[Told, Fate]:
    """Return what becomes of all that a *maker* tells; with a lost object go its fields."""
    found: dict[Told, Fate] = {}
    for told in (one for one in told_of() if one.spot.provider == maker):
        whole = found.get(replace(told, name="")) if told.name and told.spot.base is None else None
        lost = whole is not None and whole.lost and not whole.said
        found[told] = whole if whole and lost else told.to(client, stream=stream)
    return found


def _fate(maker: str, answers: Iterable[JsonObject], client: str, *, stream: bool) -> Fate:
    if stream:
        return _settled(maker, client, [(answer, ()) for answer in answers])
    return _compared([_heard(maker, orjson.dumps(one), client, stream=False) for one in answers])


def _settled(
    maker: str, client: str, answers: Iterable[tuple[JsonObject, tuple[JsonObject, ...]]]
) -> Fate:
    raws = [streamed(maker, whole, *more) for whole, more in answers]
    return _compared([_heard(maker, raw, client, stream=True) for raw in raws])


def _compared(heard: list[tuple[Json, list[Warned]]]) -> Fate:
    (now, warned), (before, known) = heard
    if now is None:
        return Fate(_FAILED)
    said = tuple(sorted(set(_differing(_timeless(now), _timeless(before)))))
    lost = dict.fromkeys(one.code for one in warned if one not in known)
    return Fate(said, tuple(lost))


def _heard(maker: str, raw: bytes, client: str, *, stream: bool) -> tuple[Json, list[Warned]]:
    """Return what a *client* gets of the answer *raw*, and its losses; None of a failure."""
    asked = Request("m", dialect=client, stream=stream)
    reader = PROVIDERS[maker].reader(asked, _TARGET, streamed=stream)
    try:
        events = [*reader.feed(raw), *reader.end()]
    except UpstreamFailed:
        return None, []
    losses = [lost for event in events if (lost := unsaid(event, client)) is not None]
    relay = Relay(client, None, {"model": "m"}, lambda: Request("m"))
    call = Call(client, "m", stream, relay, include_usage=True)
    return _written(call, events), losses


def _written(call: Call, events: list[Event]) -> Json:
    dialect = DIALECTS[call.dialect]
    if not call.streamed:
        fold = Fold()
        for event in events:
            fold.feed(event)
        return orjson.loads(dialect.whole(call, fold.reply(), _SUMMARY))
    encoder = dialect.encoder(call, "req_1", "m")
    raw = b"".join(map(encoder.feed, events)) + encoder.end(_SUMMARY)
    lines = (line.removeprefix(b"data: ") for line in raw.split(b"\n"))
    return [orjson.loads(line) for line in lines if line.startswith(b"{")]


def _timeless(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _timeless(one) for name, one in value.items() if name not in _TIMES}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def _differing(now: Json, before: Json, name: str = "") -> Iterator[str]:
    """Yield the names of the fields in which the two differ, the innermost that both have."""
    if isinstance(now, dict) and isinstance(before, dict):
        for one in now.keys() | before.keys():
            yield from _differing(now.get(one), before.get(one), one)
    elif isinstance(now, list) and isinstance(before, list) and len(now) == len(before):
        for one, other in zip(now, before, strict=True):
            yield from _differing(one, other, name)
    elif now != before:
        yield name
