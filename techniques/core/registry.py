"""Which techniques there are. A module of ``catalog`` registers itself by decorator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType
from typing import TypeVar

from pydantic import BaseModel

from techniques.core.channel import Channels, Technique
from techniques.core.discover import import_all
from techniques.core.events import Event
from techniques.core.task import Task

OptionsT = TypeVar("OptionsT", bound=BaseModel)
_Typed = Callable[[Task[OptionsT], Channels], AsyncGenerator[Event, None]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a person chooses a technique by.

    ``worst`` and ``typical`` count upstream calls with default options; ``needs`` are things
    without which it works less well or not at all (``judge``, ``two channels``).
    """

    family: str
    source: str
    worst: str
    typical: str
    avoid: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """What the router, the docs and the tests need to know of a technique."""

    name: str
    summary: str
    traits: Traits
    options: type[BaseModel]
    run: Technique


_cards: dict[str, Card] = {}


def technique(
    *, options: type[OptionsT], traits: Traits
) -> Callable[[_Typed[OptionsT]], _Typed[OptionsT]]:
    """Register the decorated function under its own name and return it unchanged."""

    def register(run: _Typed[OptionsT]) -> _Typed[OptionsT]:
        name = run.__name__
        if name in _cards:
            raise ValueError(f"There are two techniques named {name!r}.")
        summary = (run.__doc__ or "").partition("\n")[0]
        _cards[name] = Card(name, summary, traits, options, run)
        return run

    return register


def load(package: ModuleType) -> Mapping[str, Card]:
    """Import every module of *package* and return the cards by name."""
    import_all(package)
    return MappingProxyType(dict(sorted(_cards.items())))
