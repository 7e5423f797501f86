"""Whether a revision may take the place of what stands. Ties keep what stands."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Final

from techniques.parts.stopping import SCORE_NOISE

_Z: Final = 0.5
_MOST_WORDS: Final = 200_000  # characters in which words are counted


def better(score: float | None, standing: Sequence[float], noise: float = SCORE_NOISE) -> bool:
    """Tell whether a revision's *score* is above the mean of all scores of the *standing* text.

    By more than half a standard error of the difference: a single lucky score does not do.
    """
    if score is None or not standing:
        return False
    margin = _Z * noise * math.sqrt(1 + 1 / len(standing))
    return score - fmean(standing) > margin


def changed(before: str, after: str) -> float:
    """Return which share, 0 to 1, of the words was changed, counted from the first to the last.

    Of texts that are too long to be taken apart, which share of the characters.
    """
    long = max(len(before), len(after)) > _MOST_WORDS
    old, new = (before, after) if long else (before.split(), after.split())
    longest = max(len(old), len(new))
    return 1 - _common(old, new) / longest if longest else 0.0


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many words stand at the same place from the start or from the end."""
    shorter = min(len(old), len(new))
    head = _most(shorter, lambda count: old[:count] == new[:count])
    rest = shorter - head
    return head + _most(rest, lambda count: old[len(old) - count :] == new[len(new) - count :])


def _most(limit: int, alike: Callable[[int], bool]) -> int:
    """Return the greatest count up to *limit* for which they are *alike*, as for all below it."""
    return bisect_left(range(1, limit + 1), x=True, key=lambda count: not alike(count))
