"""Texts of which both sides know the length: a word is a token, and four characters with its space.

Agent and provider share this and no more: how long an answer will be stands in the last turn, so
that a run can be repeated and every arm gets the same answers.
"""

from __future__ import annotations

import re
from random import Random  # noqa: TID251 - always with a seed
from typing import Final

_LETTERS: Final = "aeioubcdfghklmnprstvw"
_MARK: Final = re.compile(r"\bsteplength(\d+)\b")
_POOL: Final = 20_000


def _made() -> list[str]:
    dice = Random(7)
    return ["".join(dice.choices(_LETTERS, k=dice.choice((1, 2, 3, 4, 5)))) for _ in range(_POOL)]


_WORDS: Final = _made()


def text(count: int, seed: int) -> str:
    """Return *count* words, at most as many as there are."""
    start = Random(seed).randrange(_POOL)
    return " ".join((_WORDS[start:] + _WORDS[:start])[:count])


def step(count: int, seed: int, answer: int) -> str:
    """Return a turn of *count* words that says how many *answer* is to have."""
    return f"steplength{answer} {text(count - 1, seed)}"


def marked(turn: str) -> int | None:
    """Return how many words the answer to *turn* is to have, None if it does not say."""
    found = _MARK.search(turn)
    return int(found[1]) if found else None
