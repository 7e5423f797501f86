"""How much the vote of a model counts beside those of others, by how often each is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SUREST: Final = 0.98  # no model is to be believed more than that


def trusted(accuracies: Sequence[float]) -> list[float]:
    """Return what a vote of each model counts, above 0 and at most 1, which the best one's does.

    *accuracies* are shares of right answers, 0 to 1. The weights are the odds of being right, not
    their logarithm, which is best for voters that err independently (Nitzan and Paroush 1982).
    Language models do not: they err on the same questions, and often in the same way (Kim et al.
    2025, arXiv:2506.07962). Summing odds takes the soft maximum of the log-odds: several that are
    often wrong do not add up to one that is nearly always right. See docs/evidence.md.
    """
    odds = [_odds(min(max(value, 1 - _SUREST), _SUREST)) for value in accuracies]
    best = max(odds, default=1.0)
    return [value / best for value in odds]


def beside(ahead: float) -> float:
    """Return what a vote counts beside one of the best model, above 0 and at most 1.

    *ahead* is how often the one who votes is right where just one of the two is, above 0 and below
    1. Models that erred independently would be so ``trusted``; where the best one errs others err
    more than elsewhere, and this is less.
    """
    return min(_odds(ahead), 1.0)


def outweighs(counts: Sequence[float]) -> bool:
    """Tell whether the first of *counts* is more than all others together."""
    return bool(counts) and counts[0] > sum(counts[1:])


def _odds(chance: float) -> float:
    return chance / (1 - chance)
