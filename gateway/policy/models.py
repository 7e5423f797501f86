"""The models that callers can name, and how a name is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from gateway.upstream.account import Account, unlimited
from gateway.upstream.embeddings.batches import Batch
from gateway.upstream.http import HttpChannel
from gateway.upstream.llama_cpp.host import Host
from gateway.upstream.llama_cpp.kept import Session
from gateway.upstream.llama_cpp.seated import SeatedChannel
from gateway.upstream.provider import Target
from pricing.price import Price
from techniques.core.errors import UnknownModel

_LATEST: Final = ":latest"


@dataclass(frozen=True, slots=True)
class Model:
    """A model, the channel that goes straight to it, and what is known of it.

    Its target's name may end in ``*``: the model then serves every name that begins so. The
    provider is asked for that name; where its own ends in ``*`` too, with that beginning in place
    of ours; where it does not, always for that one. ``called`` gives its target under the
    provider's name, None: the same but for it; ``priced`` its price, None: the same.
    ``account`` is where it is served, ``max_output`` how many tokens it writes at most,
    ``others`` the same model at further accounts. ``host`` is the server of one's own that it runs
    on, ``stronger`` the name of a model that knows more and costs more, ``batch`` what it takes in
    one call for embeddings.
    """

    channel: HttpChannel
    price: Price | None = None
    fallbacks: tuple[str, ...] = ()
    hedge_after_s: float | None = None
    simulated: bool = False
    account: Account = field(default_factory=unlimited)
    max_output: int | None = None
    others: tuple[Model, ...] = ()
    called: Callable[[str], Target] | None = None
    priced: Callable[[str], Price | None] | None = None
    host: Host | None = None
    stronger: str | None = None
    batch: Batch = field(default_factory=Batch)

    @property
    def target(self) -> Target:
        """The model as the configuration has it."""
        return self.channel.target

    @property
    def name(self) -> str:
        """The operator's name for it; safe as a label."""
        return self.channel.target.name

    def seated(self, session: Session | None) -> HttpChannel | SeatedChannel:
        """Return the channel for calls of *session*: on a host, one that gives them slots."""
        if self.host is None:
            return self.channel
        return SeatedChannel(self.channel, self.host, session)

    def under(self, name: str) -> Model:
        """Return this model as it serves *name*."""
        theirs = self._theirs(name)
        target = self.called(theirs) if self.called else replace(self.target, model=theirs)
        if theirs != name:
            target = replace(target, asked=name)
        return replace(
            self,
            channel=replace(self.channel, target=target),
            price=self.priced(theirs) if self.priced else self.price,
            others=tuple(other.under(name) for other in self.others),
        )

    def offers(self) -> Iterator[str]:
        """Yield by which names clients can ask for what the provider says it has."""
        model, ours = self.target.model, self.name
        if model.endswith("*"):
            for theirs in self.account.offered:
                if theirs.startswith(model[:-1]):
                    yield ours[:-1] + theirs[len(model) - 1 :]

    def _theirs(self, name: str) -> str:
        """Return what the provider calls the model that a client calls *name*."""
        model = self.target.model
        return model[:-1] + name[len(self.name) - 1 :] if model.endswith("*") else model


class Catalogue:
    """All models of the configuration."""

    def __init__(self, models: Iterable[Model]) -> None:
        self._by_name: dict[str, Model] = {}
        self._by_prefix: list[tuple[str, Model]] = []
        for model in models:
            self._by_name[model.name] = model
            if model.name.endswith("*"):
                self._by_prefix.append((model.name[:-1], model))
        self._by_prefix.sort(key=lambda row: len(row[0]), reverse=True)
        self._offered: tuple[tuple[str, ...], ...] = ()
        self._listed = self.named()

    def find(self, name: str) -> Model:
        """Return the model called *name*.

        Raises:
            UnknownModel: There is none.
        """
        model = self._by_name.get(name) or self._by_name.get(_otherwise(name))
        if model is not None and not model.name.endswith("*"):
            return model
        for prefix, general in self._by_prefix:
            if name.startswith(prefix) and _is_plain(name):
                found = general.under(name)
                if found.target.model:  # and not a beginning alone, to which nothing was added
                    return found
        raise UnknownModel(
            f"There is no model {name[:128]!r}; GET /v1/models lists them.",
            param="model",
            name=name[:128],
        )

    def label(self, name: str) -> str:
        """Return the configured name of what *name* means, empty if that is nothing.

        A technique may stand before it, as in ``technique/model``.
        """
        for asked in (name, name.partition("/")[2]):
            try:
                return self.find(asked).name
            except UnknownModel:
                continue
        return ""

    def named(self) -> Mapping[str, Model]:
        """Return the models by name, without those that end in ``*``."""
        return {name: model for name, model in self._by_name.items() if not name.endswith("*")}

    def listed(self) -> Mapping[str, Model]:
        """Return the models by name, those too that providers of names with ``*`` say they have."""
        offered = tuple(general.account.offered for _, general in self._by_prefix)
        if offered != self._offered:
            self._offered, self._listed = offered, {**self.named(), **dict(self._found())}
        return self._listed

    def _found(self) -> Iterator[tuple[str, Model]]:
        for _, general in self._by_prefix:
            for name in general.offers():
                with suppress(UnknownModel):
                    found = self.find(name)
                    if found.name == general.name and found.target.shown == name:
                        yield name, found

    def all(self) -> tuple[Model, ...]:
        """Return all models, also those whose names end in ``*``."""
        return tuple(self._by_name.values())

    def labels(self) -> tuple[str, ...]:
        """Return all configured names."""
        return tuple(self._by_name)


def _otherwise(name: str) -> str:
    """Return how else a model may be called: to Ollama and its clients, no tag means ``latest``."""
    return name.removesuffix(_LATEST) if name.endswith(_LATEST) else name + _LATEST


def _is_plain(name: str) -> bool:
    return (
        len(name) <= 128
        and name.isprintable()
        and not set(name) & set("*?#%\\@ ")
        and (".." not in name)
    )
