"""Looks at what is learnt for harm: arms that make answers worse, models that have changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from router_service.contract import Observation
from router_service.learning.drift import Drift, drift_of
from router_service.learning.killswitch import MASK_S, counts, last_trip, masks

Named: TypeAlias = tuple[str, str]
"""A model, and an arm of it or who tells of it."""
Told: TypeAlias = tuple[float, str, float]
"""When, a name, and how much."""

_MOST: Final = 1_000


class Watch:
    """Keeps of each arm, and of each source, the latest that was told.

    It learns in one thread at a time, and may be asked in another. Only what is new is looked at.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._gains: dict[Named, dict[str, Told]] = {}
        self._plain: dict[Named, dict[str, Told]] = {}
        self._until: dict[Named, float] = {}
        self._drifts: dict[Named, Drift] = {}

    @property
    def drifts(self) -> Sequence[Drift]:
        """Where plain answers are not what they were."""
        return tuple(self._drifts.values())

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        """Learn *rows* too, or nothing but them."""
        if afresh:
            self._gains, self._plain = {}, {}
        until, drifts = ({}, {}) if afresh else (dict(self._until), dict(self._drifts))
        for arm in self._take_gains(rows):
            at = last_trip(self._gains[arm].values())
            until.pop(arm, None)
            if at is not None:
                until[arm] = at + MASK_S
        for source in self._take_plain(rows):
            told = sorted(self._plain[source].values())
            found = drift_of(*source, [quality for _, _, quality in told])
            drifts.pop(source, None)
            if found is not None:
                drifts[source] = found
        self._until, self._drifts = until, drifts

    def masks(self, model: str, now: float) -> dict[str, str]:
        """Return which arms of *model* must not be chosen at *now*, and why."""
        until = self._until
        if not until:
            return {}
        return masks({arm: end for arm, end in until.items() if end > now}, model)

    def _take_gains(self, rows: Sequence[Observation]) -> set[Named]:
        """Take in what *rows* tell of arms, and return of which."""
        touched = set()
        for row in rows:
            if counts(row):
                assert row.quality is not None
                assert row.plain_quality is not None
                touched.add((row.model, row.arm))
                known = self._gains.setdefault((row.model, row.arm), {})
                known[row.id] = row.at, row.id, row.quality - row.plain_quality
        for arm in touched:
            self._gains[arm] = self._latest(self._gains[arm])
        return touched

    def _take_plain(self, rows: Sequence[Observation]) -> set[Named]:
        """Take in what *rows* tell of plain answers, and return by which source of which model."""
        touched = set()
        for row in rows:
            if row.plain_quality is not None:
                touched.add((row.model, row.source))
                known = self._plain.setdefault((row.model, row.source), {})
                known[row.request_id] = row.at, row.request_id, row.plain_quality
        for source in touched:
            self._plain[source] = self._latest(self._plain[source])
        return touched

    def _latest(self, known: dict[str, Told]) -> dict[str, Told]:
        if len(known) <= self._most:
            return known
        kept = sorted(known.items(), key=lambda item: item[1])[-self._most :]
        return dict(kept)
