"""How sure a choice is, by drawing what its alternatives may be worth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_DRAWS = 256
_SEED = 20_571


def confidence(chosen: int, means: Sequence[float], spreads: Sequence[float]) -> float:
    """Return the share of draws in which the *chosen* place has the most, 0 to 1."""
    drawn = _normal(len(means)) * np.array(spreads)[:, None]
    drawn += np.array(means)[:, None]
    return float(np.count_nonzero(drawn[chosen] >= drawn.max(axis=0)) / _DRAWS)


@lru_cache(maxsize=64)
def _normal(count: int) -> NDArray[np.float64]:
    """Return the draws, a row each alternative."""
    drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, count))
    return np.ascontiguousarray(drawn.T)
