"""Whether a revision may take the place of what stands. Ties keep what stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from techniques.parts.keys import plain
from techniques.parts.stopping import SCORE_NOISE

_Z: Final = 0.5
_UNCHANGED: Final = 0.01


def better(score: float | None, standing: Sequence[float], noise: float = SCORE_NOISE) -> bool:
    """Tell whether a revision's *score* is above the mean of all scores of the *standing* text.

    By more than half a standard error of the difference: a single lucky score does not do.
    """
    if score is None or not standing:
        return False
    margin = _Z * noise * math.sqrt(1 + 1 / len(standing))
    return score - fmean(standing) > margin


def unchanged(before: str, after: str) -> bool:
    """Tell whether less than a hundredth of the words was changed, order kept."""
    old, new = plain(before).split(), plain(after).split()
    longest = max(len(old), len(new))
    return longest == 0 or 1 - _common(old, new) / longest < _UNCHANGED


def _common(old: list[str], new: list[str]) -> int:
    """Return how many words stand at the same place from the start or from the end."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - head
    tail = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return head + tail
