"""Hears it where a caller asks much the same again soon: the answer before may not have done."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from operator import mul
from typing import Final

from router_service.arms import PLAIN
from router_service.contract import Feedback, Observation, Vector
from router_service.learning.rewards import RELIABILITY, asked_again

_LATEST: Final = 5
_CALLERS: Final = 1_000
_SLACK_S: Final = 0.25  # who has an answer may ask on before its end is written down


@dataclass(frozen=True, slots=True)
class _Asked:
    at: float
    request_id: str
    arm: str
    vector: Vector


class Reasks:
    """Remembers of each key what it asked last, and *says* so where it asks that again."""

    def __init__(self, says: Callable[[Feedback], None]) -> None:
        self._says = says
        self._known: OrderedDict[str, deque[_Asked]] = OrderedDict()

    def __call__(self, _ended: object, observed: Observation) -> None:
        """Take in what came of a request; what was asked before the answer is not asked again."""
        if not observed.caller or observed.vector is None or observed.latency_ms is None:
            return
        began = observed.at - observed.latency_ms / 1000
        known = self._known.setdefault(observed.caller, deque(maxlen=_LATEST))
        self._known.move_to_end(observed.caller)
        for one in tuple(known):
            if _is_again(one, began, observed.vector):
                known.remove(one)
                self._says(_said(one))
        known.append(_Asked(observed.at, observed.request_id, observed.arm, observed.vector))
        if len(self._known) > _CALLERS:
            self._known.popitem(last=False)


def _is_again(before: _Asked, began: float, vector: Vector) -> bool:
    if before.vector.encoder != vector.encoder or len(before.vector.values) != len(vector.values):
        return False
    alike = sum(map(mul, before.vector.values, vector.values))
    since = began - before.at
    return since > -_SLACK_S and asked_again(max(since, 0.0), alike) is not None


def _said(before: _Asked) -> Feedback:
    return Feedback(
        request_id=before.request_id,
        quality=0.0,
        plain_quality=0.0 if before.arm == PLAIN.name else None,
        source="reask",
        reliability=RELIABILITY["reask"],
    )
