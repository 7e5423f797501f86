"""Whether a revision may take the place of what stands. Ties keep what stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Final

from techniques.parts.stopping import SCORE_NOISE

_Z: Final = 0.5


def better(score: float | None, standing: Sequence[float], noise: float = SCORE_NOISE) -> bool:
    """Tell whether a revision's *score* is above the mean of all scores of the *standing* text.

    By more than half a standard error of the difference: a single lucky score does not do.
    """
    if score is None or not standing:
        return False
    margin = _Z * noise * math.sqrt(1 + 1 / len(standing))
    return score - fmean(standing) > margin


def changed(before: str, after: str) -> float:
    """Return which share, 0 to 1, of the words was changed, counted from the first to the last."""
    old, new = before.split(), after.split()
    longest = max(len(old), len(new))
    return 1 - _common(old, new) / longest if longest else 0.0


def _common(old: list[str], new: list[str]) -> int:
    """Return how many words stand at the same place from the start or from the end."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    rest = shorter - head
    tail = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return head + tail
