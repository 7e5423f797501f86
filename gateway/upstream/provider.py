"""What one provider's API looks like, as pure translation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Literal, Protocol, TypeVar

from gateway.upstream.thinking import UNKNOWN, Thinks
from pricing.record import record
from techniques.core.capabilities import Capabilities
from techniques.core.discover import import_all
from techniques.core.errors import UpstreamFailed
from techniques.core.events import Event, Warned
from techniques.core.request import Request, ThinkingWish


@dataclass(frozen=True, slots=True)
class Target:
    """A model as an operator configured it.

    Attributes:
        name: The operator's name for it; safe as a label, as is ``provider``.
        model: The provider's own.
        capabilities: What it can do, stated or inferred.
        stated: What the operator stated of it: a relayed body is changed for nothing else. None:
            all of ``capabilities``.
        thinks: How it thinks, and how its backend is told.
        thinking: What is asked for when the caller says nothing of it.
        steered: The operator says what is asked for, or how; a relayed body is made to say so too.
        split_thinking: Reasoning between tags is taken out of the text of relayed answers too.
        idempotent: A call that is sent twice with one ``Idempotency-Key`` is carried out once.
        bills: What its provider says that a call costs is what it costs.
        drops_hosted: Tools that only another provider has are left out, not refused.
        takes: Fields beside the usual that its host is known to take, whatever the client's API.
        refuses: Fields of earlier turns that hold reasoning, and that its host takes from nobody.
        asked: What a client calls it, where a ``*`` stands for that and the provider has another
            name for it.
    """

    name: str
    provider: str
    model: str
    capabilities: Capabilities = field(default_factory=Capabilities)
    stated: Capabilities | None = None
    thinks: Thinks = UNKNOWN
    thinking: ThinkingWish | None = None
    steered: bool = False
    split_thinking: bool = False
    idempotent: bool = False
    bills: bool = False
    drops_hosted: bool = False
    takes: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    asked: str | None = None

    @property
    def shown(self) -> str:
        """What a client calls it; a name that ends in ``*`` stands for many."""
        return (self.asked or self.model) if self.name.endswith("*") else self.name

    @property
    def relayed(self) -> Capabilities:
        """The capabilities that a relayed body is changed for."""
        return self.capabilities if self.steered or self.stated is None else self.stated


class Way(Protocol):
    """How far a call has come: ``unsent`` as long as it is sure that nothing of it was sent."""

    unsent: bool


@record(frozen=True, slots=True)
class HttpCall:
    """What to send: ``path`` is relative to the account's base URL, ``body`` is JSON.

    ``warnings`` name what of the request could not be said to this provider. Calls to models are
    posts; what a server of one's own tells of itself is got. ``way`` is told how far it has come.
    """

    path: str
    body: bytes
    headers: Mapping[str, str]
    warnings: tuple[Warned, ...] = ()
    method: Literal["GET", "POST"] = "POST"
    way: Way | None = None

    def waits(self) -> None:
        """Note that nothing of it was sent yet; a transport that has to wait before it can says so.

        Of one that never does, whatever it was asked to send may have been sent.
        """
        if self.way is not None:
            self.way.unsent = True

    def leaves(self) -> None:
        """Note that it is being sent now."""
        if self.way is not None:
            self.way.unsent = False


class Reader(Protocol):
    """Reads one answer from bytes that may be cut anywhere.

    Over both methods, the events are one well-formed stream: a single ``Finished`` comes last. Of a
    relayed answer they are ``Relayed`` bytes, which joined (with ``Finished.raw``) are the
    provider's own; the first comes when the answer begins: with a choice of OpenAI's, a content
    block of Anthropic's. Comments, pings and heads before that are held back until then. Events
    read before a failure are yielded before it is raised.
    """

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that *chunk* completes.

        Raises:
            UpstreamFailed: The provider reports a failure inside its answer, or the answer cannot
                be read.
        """
        ...

    def end(self) -> Iterator[Event]:
        """Yield the events that were complete only with the end of the bytes.

        Raises:
            StreamBroken: The model had not finished.
            UpstreamFailed: As for ``feed``.
        """
        ...


class Provider(Protocol):
    """One provider's API. Makes no call itself.

    A request whose ``relay`` is of the provider's ``dialect`` is relayed: its body is sent with
    only the model name and ``stream_options.include_usage`` changed, what the capabilities forbid
    that are stated of the target, what its operator says of thinking, and the calls that its host
    is known to refuse for want of a signature.
    """

    dialect: str

    def authorization(self, api_key: str) -> Mapping[str, str]:
        """Return the headers that carry the account's credential."""
        ...

    def encode(self, request: Request, target: Target) -> HttpCall:
        """Return the call that asks *target* for *request*.

        Raises:
            RequestRejected: The request needs a feature that the target does not have, or it is
                ``strict`` and something of it would be lost.
        """
        ...

    def reader(self, request: Request, target: Target, *, streamed: bool) -> Reader:
        """Return a fresh reader for the answer to *request*.

        *streamed* tells whether the answer came as server-sent events. A relayed request whose
        answer came in the other form than asked for is decoded, not relayed.
        """
        ...

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> UpstreamFailed:
        """Return what an answer with an error *status* means. Header names are lower case."""
        ...


_PROVIDERS: dict[str, Provider] = {}
ProviderT = TypeVar("ProviderT", bound=Provider)


def provider(cls: type[ProviderT]) -> type[ProviderT]:
    """Register the decorated class under its dialect."""
    _PROVIDERS[cls.dialect] = cls()
    return cls


def load(package: ModuleType) -> Mapping[str, Provider]:
    """Import every module of *package* and return the providers by dialect."""
    import_all(package)
    return MappingProxyType(_PROVIDERS)
