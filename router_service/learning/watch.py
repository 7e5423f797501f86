"""Looks at what is learnt for harm: arms that make answers worse, models that have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from router_service.contract import Observation
from router_service.learning.drift import Drift, drifts
from router_service.learning.killswitch import killed, masks

_MOST = 10_000


class Watch:
    """Keeps the latest rows that tell of qualities, without what they were about.

    It learns in one thread at a time, and may be asked in another.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._rows: dict[str, Observation] = {}
        self._until: Mapping[tuple[str, str], float] = {}
        self.drifts: tuple[Drift, ...] = ()

    def learn(self, rows: Sequence[Observation], *, afresh: bool = False) -> None:
        """Learn *rows* too, or nothing but them."""
        known = {} if afresh else dict(self._rows)
        known |= {row.id: _bare(row) for row in rows if row.plain_quality is not None}
        if len(known) > self._most:
            latest = sorted(known.values(), key=_age)[-self._most :]
            known = {row.id: row for row in latest}
        self._rows = known
        self._until = _ends(known.values())
        self.drifts = tuple(drifts(known.values()))

    def masks(self, model: str, now: float) -> dict[str, str]:
        """Return which arms of *model* must not be chosen at *now*, and why."""
        if not self._until:
            return {}
        return masks({arm: end for arm, end in self._until.items() if end > now}, model)


def _ends(rows: Iterable[Observation]) -> Mapping[tuple[str, str], float]:
    """Return until when each arm is masked that ever was."""
    return killed(rows, float("-inf"))


def _bare(row: Observation) -> Observation:
    """Return what counts here of *row*."""
    return Observation.model_construct(
        id=row.id,
        request_id=row.request_id,
        at=row.at,
        model=row.model,
        arm=row.arm,
        counterfactual=row.counterfactual,
        quality=row.quality,
        plain_quality=row.plain_quality,
        source=row.source,
    )


def _age(row: Observation) -> tuple[float, str]:
    return row.at, row.id
