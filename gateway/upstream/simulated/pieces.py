"""Cuts an answer into pieces about the size of tokens, and ends it where it has to end."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

_PIECE = re.compile(r"\s?(?:[^\W\d_]{1,8}|\d{1,3}|[^\w\s]{1,3}|_+)|\s")

Finish = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class CallMade:
    """A tool call of an answer; ``arguments`` is JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Draft:
    """One answer. ``text`` is None when it is tool calls only; ``sure`` is False if it errs.

    ``odds`` are the tokens that could have been its only one, each with its probability.
    """

    text: str | None
    calls: tuple[CallMade, ...] = ()
    finish: Finish = "stop"
    sure: bool = True
    odds: tuple[tuple[str, float], ...] = ()


def split(text: str) -> list[str]:
    """Return the pieces of *text*; joined they are *text* again."""
    return _PIECE.findall(text)


def count(draft: Draft) -> int:
    """Return how many tokens *draft* has."""
    calls = sum(4 + len(split(call.arguments)) for call in draft.calls)
    return len(split(draft.text or "")) + calls


def ended(draft: Draft, stops: tuple[str, ...], most: int | None) -> Draft:
    """Return *draft* cut before the first of the texts *stops*, and after *most* tokens."""
    text = draft.text
    if text:
        cuts = [at for stop in stops if (at := text.find(stop)) >= 0]
        text = text[: min(cuts)] if cuts else text
        draft = replace(draft, text=text)
    if most is None or count(draft) <= most:
        return draft
    kept = split(text or "")[:most]
    left = most - len(kept)
    calls: list[CallMade] = []
    for call in draft.calls:
        if left <= 4:
            break
        arguments = split(call.arguments)[: left - 4]
        left -= 4 + len(arguments)
        calls.append(replace(call, arguments="".join(arguments)))
    shown = "".join(kept) if text is not None else None
    return replace(draft, text=shown, calls=tuple(calls), finish="length")
