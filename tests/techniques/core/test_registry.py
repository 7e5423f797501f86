from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from types import MappingProxyType, ModuleType

import pytest
from pydantic import BaseModel

from techniques import catalog
from techniques.core import registry
from techniques.core.channel import Channels, Member
from techniques.core.discover import import_all
from techniques.core.events import Event, Finished, Note
from techniques.core.registry import Traits, delegating, load, technique
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.testing import ScriptedChannel

TRAITS = Traits(family="f", source="s", worst="1", typical="1", avoid="Never.")

MEMBER = Member("m", "model", ScriptedChannel([]))


class Options(BaseModel, frozen=True, extra="forbid"):
    """None."""


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> dict[str, registry.Card]:
    fresh: dict[str, registry.Card] = {}
    monkeypatch.setattr(registry, "_cards", fresh)
    return fresh


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    made = ModuleType("made_for_this_test")
    made.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    yield made
    for name in [name for name in sys.modules if name.startswith(f"{made.__name__}.")]:
        del sys.modules[name]


def test_a_technique_registers_under_its_own_name(cards: dict[str, registry.Card]) -> None:
    @technique(options=Options, traits=TRAITS)
    async def twice(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
        """Ask two times.

        More than a line is not needed.
        """
        yield Finished()

    card = cards["twice"]
    assert (card.name, card.summary, card.options) == ("twice", "Ask two times.", Options)
    assert card.run is twice
    assert card.traits is TRAITS


async def test_a_technique_that_hands_on_gets_all_the_cards_there_are(
    cards: dict[str, registry.Card],
) -> None:
    @delegating(options=Options, traits=TRAITS, aliases=("also_first",))
    async def first_of(
        task: Task[Options], channels: Channels, cards: registry.Cards
    ) -> AsyncGenerator[Event, None]:
        """Say who there is."""
        yield Note("cards", dict.fromkeys(cards))

    @technique(options=Options, traits=TRAITS)
    async def later(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
        """Come later."""
        yield Finished()

    card = cards["also_first"]
    models = Channels(MEMBER, (MEMBER,))
    events = [event async for event in card.run(Task(Request("m"), Options()), models)]

    assert (card.name, card.summary) == ("first_of", "Say who there is.")
    assert events == [Note("cards", dict.fromkeys(("first_of", "also_first", "later")))]


def test_two_techniques_of_one_name_stop_the_start(cards: dict[str, registry.Card]) -> None:
    def same(task: Task[Options], channels: Channels) -> AsyncGenerator[Event, None]:
        raise NotImplementedError

    register = technique(options=Options, traits=TRAITS)
    register(same)

    with pytest.raises(ValueError, match="'same'"):
        register(same)
    assert cards["same"].summary == ""


def test_the_cards_of_a_package_are_sorted_and_cannot_be_changed() -> None:
    cards = load(catalog)

    assert list(cards) == sorted(cards)
    assert {"baseline", "best_of_n", "self_consistency", "self_refine"} <= cards.keys()
    assert isinstance(cards, MappingProxyType)


def test_every_module_of_a_package_is_imported(package: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("")
    (tmp_path / "two.py").write_text("")

    import_all(package)

    assert {f"{package.__name__}.one", f"{package.__name__}.two"} <= sys.modules.keys()


def test_a_module_that_does_not_import_stops_the_start(package: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise RuntimeError('not this one')")

    with pytest.raises(RuntimeError, match="not this one"):
        import_all(package)
