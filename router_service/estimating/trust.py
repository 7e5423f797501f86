"""How far the trend and the neighbours are to be believed: as far as what they foretold came true.

Which of them knows better differs from one kind of traffic to another, so neither is given.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from router_service.estimating.partition import Numbers

_BELIEF: Final = 1.0  # 1 over the variance of a part, before anything was seen
_LEAST: Final = 1e-3
_TINY: Final = 1e-300
_WORTH: Final = 2.0  # what one more part has to explain (Akaike 1974)
_CANDIDATES: Final = ((1,), (0,), (0, 1))


class Trust(NamedTuple):
    """What part of each is added, 0 to 1: neighbours alone, until many rows say otherwise."""

    trend: float = 0.0
    near: float = 1.0


def trust(trend: Numbers, near: Numbers, truth: Numbers, weights: Numbers) -> Trust:
    """Return what parts of what *trend* and *near* foretold make up most of the *truth*.

    What each foretold of a row, it was told by other rows. One of them is left out where it adds
    too little to be told from chance. Source: Wolpert 1992, Breiman 1996 (stacked regressions, with
    parts that are not negative).
    """
    noise = float((weights * (truth - near) ** 2).sum()) / max(float(weights.sum()), _TINY)
    each = np.stack([trend, near]) / np.sqrt(max(noise, _TINY))
    square = (each * weights) @ each.T + _BELIEF * np.eye(2)
    towards = (each * weights) @ (truth / np.sqrt(max(noise, _TINY))) + _BELIEF * np.array(Trust())
    least, best = np.inf, np.array(Trust())
    for parts in _CANDIDATES:
        found = np.zeros(2)
        chosen = list(parts)
        found[chosen] = np.linalg.solve(square[np.ix_(chosen, chosen)], towards[chosen])
        missed = float(found @ square @ found - 2 * towards @ found) + _WORTH * len(chosen)
        if missed < least and (found >= 0).all():
            least, best = missed, found
    return Trust(min(float(best[0]), 1.0), min(max(float(best[1]), _LEAST), 1.0))
