"""The techniques as text for a terminal: all of them, or one in full."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Final

from techniques.core.registry import Card
from techniques.core.values import plain, values_of

_WIDTH: Final = 100
_INDENT: Final = " " * 4


def listed(cards: Mapping[str, Card]) -> str:
    """Return a line or two for each technique: its name, what it does, its calls."""
    return "\n".join(_short(name, card) for name, card in cards.items())


def told(card: Card) -> str:
    """Return all that there is to know of a technique."""
    return "\n".join(_full(card))


def _short(name: str, card: Card) -> str:
    if name != card.name:
        return f"{name}\n{_INDENT}Another name of {card.name}."
    calls = f"Calls: {card.traits.typical} (at worst {card.traits.worst})."
    return f"{name} ({card.traits.family})\n{_wrapped(f'{card.summary} {calls}')}"


def _full(card: Card) -> Iterator[str]:
    traits = card.traits
    yield f"{card.name} ({traits.family})"
    yield _wrapped(card.summary)
    facts = {
        "also called": ", ".join(card.aliases),
        "calls, typical": traits.typical,
        "calls, at worst": traits.worst,
        "needs": ", ".join(traits.needs),
        "not when": traits.avoid,
        "source": traits.source,
    }
    for name, fact in facts.items():
        if fact:
            yield _wrapped(f"{name}: {fact}")
    for name, field in card.options.model_json_schema()["properties"].items():
        takes = values_of(field).replace("`", "")
        default = plain(field["default"]) if "default" in field else "none, it must be given"
        yield f"\n{name}: {takes} (default {default})"
        yield _wrapped(field.get("description", ""))


def _wrapped(text: str) -> str:
    return fill(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
