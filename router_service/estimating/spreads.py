"""How much the gains of each arm vary, and how much longer it takes than the plain call."""

from __future__ import annotations

from typing import Final

import numpy as np

from router_service.estimating.entries import Entries
from router_service.estimating.experience import Experience
from router_service.estimating.levels import ARM_KAPPA, total
from router_service.estimating.partition import Numbers

_FLOOR: Final = 0.05
_UNSEEN: Final = 0.5  # as wide as a coin: what nobody saw yet may be anything
_UNSEEN_ROWS: Final = 4.0


def spreads(left: Numbers, made: Entries) -> Numbers:
    """Return the standard deviation of what is left of each arm; the last is for any other."""
    rows = total(made.arm, made.counts, made.plain + 1)
    squares = total(made.arm, made.counts * left**2, made.plain + 1)
    together = (squares[:-1].sum() + _UNSEEN_ROWS * _UNSEEN**2) / (rows[:-1].sum() + _UNSEEN_ROWS)
    own = (squares + _UNSEEN_ROWS * together) / (rows + _UNSEEN_ROWS)
    found: Numbers = np.maximum(np.sqrt(np.append(own, together)), _FLOOR)
    return found


def seconds(known: Experience) -> Numbers:
    """Return how much longer each arm takes than the plain call, shrunk as gains are."""
    columns = known.columns
    there = np.flatnonzero(~np.isnan(columns.latency))
    size = len(known.arms)
    rows = np.bincount(columns.arm[there], minlength=size)
    sums = np.bincount(columns.arm[there], columns.latency[there] / 1000, size)
    plain = known.arms.get("none", -1)
    if plain < 0 or not rows[plain]:
        return np.zeros(size)
    return np.where(rows > 0, (sums - rows * sums[plain] / rows[plain]) / (rows + ARM_KAPPA), 0.0)
