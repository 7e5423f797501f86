"""Tells when what was learnt may not hold any more: plain answers are not what they were."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance
from typing import Final

from router_service.contract import Observation

_RECENT: Final = 100
_LEAST_RECENT: Final = 30
_LEAST_BEFORE: Final = 60
_SIGMAS: Final = 3.0
_LEAST_VARIANCE: Final = 0.02**2  # of qualities that hardly differ: a last digit is no change


@dataclass(frozen=True, slots=True)
class Drift:
    """The plain answers of a model are not what they were, as the same source sees them."""

    model: str
    source: str
    before: float
    now: float
    sigmas: float


def drifts(rows: Iterable[Observation]) -> list[Drift]:
    """Return where the quality of plain answers has shifted by more than three sigmas.

    The latest hundred requests are compared with all before them. One request counts once,
    whatever number of arms was worked out of it.
    """
    plain: defaultdict[tuple[str, str], dict[str, tuple[float, str, float]]] = defaultdict(dict)
    for row in rows:
        if row.plain_quality is not None:
            told = (row.at, row.id, row.plain_quality)
            plain[row.model, row.source].setdefault(row.request_id, told)
    found = (
        drift_of(model, source, [quality for _, _, quality in sorted(known.values())])
        for (model, source), known in sorted(plain.items())
    )
    return [drift for drift in found if drift is not None]


def drift_of(model: str, source: str, qualities: Sequence[float]) -> Drift | None:
    """Return the shift in the *qualities* of plain answers, the oldest first; None: none."""
    recent_rows = min(_RECENT, len(qualities) - _LEAST_BEFORE)
    if recent_rows < _LEAST_RECENT:
        return None
    before, recent = qualities[:-recent_rows], qualities[-recent_rows:]
    noise = sum(max(pvariance(part), _LEAST_VARIANCE) / len(part) for part in (before, recent))
    was, now = fmean(before), fmean(recent)
    sigmas = (now - was) / math.sqrt(noise)
    return Drift(model, source, was, now, sigmas) if abs(sigmas) > _SIGMAS else None
