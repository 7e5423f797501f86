"""Whose request it is that is paced, and how it stands among others."""

from __future__ import annotations

from gateway.admission.verdict import Patience
from gateway.clock import loop_time
from gateway.metering.meters.durable import Whose
from pricing.record import record


@record(frozen=True, slots=True)
class Standing:
    """Whose run it is and how it stands among others.

    ``use`` the technique, ``came`` a time of ``anyio.current_time``.
    """

    whose: Whose
    use: str
    tenant: str
    priority: int
    weight: float
    came: float
    patience: Patience

    @property
    def run(self) -> str:
        """Its name, unique for ever."""
        return self.whose.request_id

    def waited_s(self) -> float:
        """Return how long ago the request came, in seconds."""
        return loop_time() - self.came
