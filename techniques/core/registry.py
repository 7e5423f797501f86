"""Which techniques there are. A module of ``catalog`` registers itself by decorator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from types import MappingProxyType, ModuleType
from typing import Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel

from techniques.core.channel import Channels, Technique
from techniques.core.discover import import_all
from techniques.core.events import Event
from techniques.core.task import Task

OptionsT = TypeVar("OptionsT", bound=BaseModel)
_Typed = Callable[[Task[OptionsT], Channels], AsyncGenerator[Event, None]]


Cell: TypeAlias = Literal["works", "votes", "first action", "checked", "plain", "delegated"]
"""What becomes of a request that has something special.

``works``: nothing is lost. ``votes``: real answers are compared and one is chosen, none is
written anew. ``first action``: a tool call that keeps to the form ends the technique. ``checked``:
a text written anew is used only if it keeps to the form. ``plain``: the technique cannot keep it;
a plain call gives the answer, with a warning. ``delegated``: as the technique that is chosen.
"""


@dataclass(frozen=True, slots=True)
class Modality:
    """What a technique does with requests that have something special.

    ``many`` is ``n`` above 1; ``logprobs`` those that the client wants to see; ``fixed`` a model
    whose temperature cannot be set. With ``ranks`` the technique knows what comes after its
    answer, and gives ``Task.choices`` answers that differ, if it has as many.
    """

    tools: Cell = "works"
    json: Cell = "works"
    images: Cell = "works"
    many: Cell = "plain"
    logprobs: Cell = "works"
    fixed: Cell = "works"
    ranks: bool = False


VOTING: Final = Modality(tools="votes", json="votes", ranks=True)
"""Real answers are compared, and one of them is the answer."""
SELECTING: Final = Modality(ranks=True)
"""One of several real answers is the answer."""
COMBINING: Final = Modality(tools="votes", json="checked", logprobs="plain")
"""An answer may be written from several; tool calls are voted on."""
MENDING: Final = Modality(tools="first action", json="checked", logprobs="plain")
"""A draft may be written anew; a draft that acts is final."""
DELEGATED: Final = Modality(
    tools="delegated", json="delegated", images="delegated", logprobs="delegated", fixed="delegated"
)
"""Another technique, chosen for the request, does the work."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a person chooses a technique by.

    ``worst`` and ``typical`` count upstream calls with default options; ``needs`` are things
    without which it works less well or not at all (``judge``, ``two models``).
    """

    family: str
    source: str
    worst: str
    typical: str
    avoid: str
    needs: tuple[str, ...] = ()
    modality: Modality = Modality()


@dataclass(frozen=True, slots=True)
class Card:
    """What the router, the docs and the tests need to know of a technique.

    ``aliases`` are other names that mean exactly it.
    """

    name: str
    summary: str
    traits: Traits
    options: type[BaseModel]
    run: Technique
    aliases: tuple[str, ...] = ()


Cards: TypeAlias = Mapping[str, Card]
_Delegating = Callable[[Task[OptionsT], Channels, Cards], AsyncGenerator[Event, None]]
_cards: dict[str, Card] = {}


def technique(
    *,
    options: type[OptionsT],
    traits: Traits,
    name: str | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[_Typed[OptionsT]], _Typed[OptionsT]]:
    """Register the decorated function and return it unchanged.

    Under *name*, or its own name if none is given; the first line of its docstring says what it
    does. *aliases* are other names for it.
    """

    def register(run: _Typed[OptionsT]) -> _Typed[OptionsT]:
        called = name or run.__name__
        summary = (run.__doc__ or "").partition("\n")[0]
        card = Card(called, summary, traits, options, run, aliases)
        for known in (called, *aliases):
            if known in _cards:
                raise ValueError(f"There are two techniques named {known!r}.")
            _cards[known] = card
        return run

    return register


def delegating(
    *, options: type[OptionsT], traits: Traits, aliases: tuple[str, ...] = ()
) -> Callable[[_Delegating[OptionsT]], _Delegating[OptionsT]]:
    """Register the decorated function, which hands its task on to another technique.

    It is called with the cards of all techniques that there are then; else see ``technique``.
    """

    def register(run: _Delegating[OptionsT]) -> _Delegating[OptionsT]:
        @wraps(run)
        def over_all(task: Task[OptionsT], channels: Channels) -> AsyncGenerator[Event, None]:
            return run(task, channels, MappingProxyType(_cards))

        technique(options=options, traits=traits, aliases=aliases)(over_all)
        return run

    return register


def load(package: ModuleType) -> Cards:
    """Import every module of *package* and return the cards by name, and by alias too."""
    import_all(package)
    return MappingProxyType(dict(sorted(_cards.items())))
