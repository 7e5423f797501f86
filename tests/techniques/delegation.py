"""Techniques to hand a question on to that show what they got, and answers of any confidence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import BaseModel

from techniques import catalog
from techniques.catalog.acm import ByTable, acm
from techniques.core.channel import Channels, Technique
from techniques.core.events import Event
from techniques.core.registry import Card, Cards, Modality, Traits, load
from techniques.core.reply import replied, unfold
from techniques.core.request import Request
from techniques.core.task import Task
from techniques.parts.tables import Row
from techniques.testing import ScriptedChannel
from tests.techniques.scene import Answer, Played, Setting, asks, channels, play, tokens

CARDS = load(catalog)
WORKS = Modality()
NUMBER = asks("What is 6 * 7?")
PROSE = asks("Tell me of the sea.")


class Size(BaseModel, frozen=True, extra="forbid"):
    """What the techniques of these tests take."""

    size: int = 1


@dataclass
class Handed:
    """What a technique was handed."""

    task: Task[Any]
    channels: Channels


@dataclass
class Shop:
    """Techniques that answer with their own name; ``handed`` is what they got."""

    handed: dict[str, Handed] = field(default_factory=dict)

    def card(self, name: str, modality: Modality = WORKS, needs: tuple[str, ...] = ()) -> Card:
        async def run(task: Task[Any], channels: Channels) -> AsyncGenerator[Event, None]:
            self.handed[name] = Handed(task, channels)
            for event in unfold(replied(name)):
                yield event

        traits = Traits("f", "s", "1", "1", "Never.", needs, modality)
        return Card(name, "", traits, Size, run)

    def cards(self, *names: str) -> dict[str, Card]:
        return {name: self.card(name) for name in names}


def over(delegating: Callable[..., AsyncGenerator[Event, None]], cards: Cards) -> Technique:
    """Return the technique *delegating* with *cards* to choose from."""
    return partial(delegating, cards=cards)


def likely(text: str, probability: float) -> Callable[[Request], Answer]:
    """Answer everything with *text*, in two tokens that are both this likely."""
    return lambda _request: tokens(text[:1], probability, text[1:], probability)


def row(low: float, high: float, technique: str, **more: Any) -> Row:
    return Row(name=technique, difficulty_range=(low, high), technique=technique, **more)


QUARTERS = ByTable(
    table=(
        row(0, 0.25, "baseline"),
        row(0.25, 0.5, "fair"),
        row(0.5, 0.75, "hard"),
        row(0.75, 1, "hardest"),
    )
)
HALVES = ByTable(table=(row(0, 0.5, "baseline"), row(0.5, 1, "hard")))


def named(models: Channels, *names: str) -> Channels:
    """Return *models* under the names that an operator gave them."""
    pairs = zip(models.pool, names, strict=True)
    pool = tuple(replace(member, name=name) for member, name in pairs)
    return replace(models, primary=pool[0], pool=pool)


async def delegated(
    channel: ScriptedChannel, options: ByTable, request: Request = NUMBER, **setting: Any
) -> Played:
    """Play ``acm`` over one model and techniques that answer with their own name."""
    cards = Shop().cards("fair", "hard", "hardest") | {"baseline": CARDS["baseline"]}
    how = replace(Setting(options), **setting)
    return await play(over(acm, cards), channels(channel), request, how)
