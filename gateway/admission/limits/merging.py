"""Brings readings of the same window together."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gateway.admission.reading import Reading


def merged(readings: Sequence[Reading]) -> tuple[Reading, ...]:
    """Return at most one reading of each dimension, period and scope: the tightest."""
    if len({row.dimension for row in readings}) == len(readings):
        return tuple(readings)
    found: dict[tuple[str, float | None, str], Reading] = {}
    for row in readings:
        key = (row.dimension, row.period_s, row.scope)
        found[key] = _tighter(found[key], row) if key in found else row
    return tuple(found.values())


def _tighter(one: Reading, other: Reading) -> Reading:
    least, most = (other, one) if _room(other) < _room(one) else (one, other)
    only_reset = most.limit is None and most.remaining is None
    return least._replace(reset_s=most.reset_s) if only_reset and least.reset_s is None else least


def _room(row: Reading) -> tuple[float, float]:
    limit = math.inf if row.limit is None else row.limit
    return (limit if row.remaining is None else row.remaining), limit
