"""What a client's API looks like, as pure translation; the mirror image of a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, TypeAlias

from pricing.record import record
from pricing.usage import Usage
from techniques.core.errors import GatewayError
from techniques.core.events import Event, Traced
from techniques.core.json import NOTHING, Json, JsonObject
from techniques.core.reply import Reply
from techniques.core.request import Relay

Rewrite: TypeAlias = "Callable[[Sequence[bytes], Summary], list[bytes]]"


@record(frozen=True, slots=True)
class Call:
    """A client's request: what is needed to plan it, and its body for the rest.

    ``wishes`` is the body's ``reliability`` object. ``include_usage`` tells whether a stream must
    report usage. With ``idle`` nothing is asked of the model: the client looks whether it is there.
    ``rewrite`` makes of a relayed answer that is not streamed one of the client's dialect, where
    that is another than the relay's.
    """

    dialect: str
    model: str
    streamed: bool
    relay: Relay
    include_usage: bool = False
    wishes: Mapping[str, Json] = NOTHING
    idle: bool = False
    rewrite: Rewrite | None = None


class Times(NamedTuple):
    """How long a request took: all of it, until its answer began, and of that held at limits.

    ``begun_s`` None: it did not begin.
    """

    total_s: float = 0.0
    begun_s: float | None = None
    paused_s: float = 0.0


UNTIMED: Final = Times()
"""The times of a request that nobody measured."""


@record(frozen=True, slots=True)
class Summary:
    """What a whole run came to, for the client to see at its end.

    ``usage`` are the tokens of all sub-calls, ``trailer`` the object of the ``: lockgate`` comment,
    None when the client is to get the provider's bytes and nothing else. ``trace`` is what the
    sub-calls wrote, for an answer that is not streamed and a client that wants to see it. With
    ``total`` the client wants to be told the usage of all sub-calls first, not the answer's.
    ``times`` are those of the request, up to now.
    ``request_id`` names the request, and its answer where that has no name of its own.
    """

    usage: Usage
    calls: int
    cost_usd: str | None
    cost_source: str
    trailer: Mapping[str, Json] | None = None
    trace: Sequence[Traced] = ()
    total: bool = False
    times: Times = UNTIMED
    request_id: str = ""


def told(piece: Traced) -> JsonObject:
    """Return *piece* of a trace as clients read it, the same in every dialect."""
    return {
        "role": piece.role,
        "step": piece.step,
        "model": piece.model,
        "kind": piece.kind,
        "text": piece.text,
    }


def with_total(told: JsonObject, beside: JsonObject, summary: Summary) -> JsonObject:
    """Return the usage *told* of an answer, with *beside* it that of the whole run, and its cost.

    Where the client wants the total first, they change places.
    """
    if summary.trailer is None:
        return told
    if summary.total:
        told, beside = beside, told
    counts = {"calls": summary.calls, "cost_usd": summary.cost_usd}
    return {**told, "lockgate": {**beside, **counts, "cost_source": summary.cost_source}}


@record(frozen=True, slots=True)
class Failure:
    """An error response: its body is JSON bytes, an object.

    ``names_request``: the object is to have the name of the request, too.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = NOTHING
    names_request: bool = False

    def named(self, request_id: str) -> Failure:
        """Return this response as one to the request of that name, where it is to have it."""
        if not self.names_request or not request_id:
            return self
        body = b'%s,"request_id":"%s"}' % (self.body[:-1], request_id.encode())
        return replace(self, body=body, names_request=False)


class Encoder(Protocol):
    """Writes one streamed response."""

    def feed(self, event: Event) -> bytes:
        """Return the bytes that tell a client of *event*, b"" if it is not told of it."""
        ...

    def ping(self) -> bytes:
        """Return bytes that only keep the connection alive; legal at any moment."""
        ...

    def held(self, said: JsonObject) -> bytes:
        """Return what tells a client that a rate limit holds its call; legal at any moment."""
        ...

    def end(self, summary: Summary) -> bytes:
        """Return the closing bytes: usage, the trailer, the terminal frame."""
        ...

    def fail(self, error: GatewayError) -> bytes:
        """Return the bytes that tell a client of an *error* after the stream has begun."""
        ...


class Dialect(Protocol):
    """One client API. ``stream_type`` is the content type of its streams."""

    name: str
    stream_type: bytes

    def decode(self, body: JsonObject, raw: bytes) -> Call:
        """Return the call that *body*, parsed from *raw*, asks for.

        Only what planning needs is checked and read here; the relay's ``decode`` does the rest
        when it is needed.

        Raises:
            RequestRejected: *body* is not a request of this dialect.
        """
        ...

    def encoder(self, call: Call, request_id: str, model: str) -> Encoder:
        """Return a fresh encoder for one streamed response; *model* is named in it."""
        ...

    def whole(self, call: Call, reply: Reply, summary: Summary) -> bytes:
        """Return the JSON body of a response that is not streamed.

        ``reply.id`` is used as the response's id where it has the dialect's form.
        """
        ...

    def failure(self, error: GatewayError) -> Failure:
        """Return the response that tells a client of *error*."""
        ...
