"""Masks what makes answers worse, for a day.

Everything follows from what was observed, so all who read the same rows mask the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from router_service.arms import PLAIN
from router_service.contract import Observation

MASK_S: Final = 86_400.0
_PLAIN: Final = PLAIN.name
_ROLLING: Final = 100
_LEAST: Final = 20
_Z: Final = 0.8416  # of which 80 % of a normal distribution lie below


def tripped(at: np.ndarray, gains: np.ndarray) -> float | None:
    """Return when the switch last went, None if it never did.

    *gains* are qualities above the plain call's, in the order of the times *at*. It goes when of
    the last hundred the upper 80 % bound of the mean is below 0.
    """
    total = len(gains)
    if total < _LEAST:
        return None
    ends = np.arange(_LEAST, total + 1)
    starts = np.maximum(ends - _ROLLING, 0)
    counts = (ends - starts).astype(float)
    sums, squares = (np.concatenate(([0.0], np.cumsum(v))) for v in (gains, gains * gains))
    means = (sums[ends] - sums[starts]) / counts
    spreads = np.maximum((squares[ends] - squares[starts]) / counts - means * means, 0.0)
    bounds = means + _Z * np.sqrt(spreads / (counts - 1))
    went = np.flatnonzero(bounds < -_ROUNDING)
    return float(at[ends[went[-1]] - 1]) if len(went) else None


def killed(rows: Iterable[Observation], now: float) -> dict[tuple[str, str], float]:
    """Return until when which arm of which model is masked, of those that are at *now*."""
    gains: defaultdict[tuple[str, str], list[tuple[float, str, float]]] = defaultdict(list)
    for row in rows:
        if counts(row):
            assert row.quality is not None
            assert row.plain_quality is not None
            gain = row.quality - row.plain_quality
            gains[row.model, row.arm].append((row.at, row.id, gain))
    went = {arm: last_trip(known) for arm, known in gains.items()}
    until = {arm: at + MASK_S for arm, at in went.items() if at is not None}
    return {arm: end for arm, end in until.items() if end > now}


def masks(until: Mapping[tuple[str, str], float], model: str) -> dict[str, str]:
    """Return which arms of *model* must not be chosen, and why."""
    why = "of its last answers most were worse than plain ones"
    return {arm: why for of, arm in until if of == model}


def counts(row: Observation) -> bool:
    """Tell whether *row* says whether its arm helps or harms."""
    if row.counterfactual or row.arm == _PLAIN:
        return False
    return row.quality is not None and row.plain_quality is not None


def last_trip(known: Iterable[tuple[float, str, float]]) -> float | None:
    """Return when the switch of an arm last went, None if never; *known* are times, ids, gains."""
    ordered = sorted(known)
    at, gains = (np.array([row[column] for row in ordered]) for column in (0, 2))
    return tripped(at, gains)


_ROUNDING: Final = 1e-9
