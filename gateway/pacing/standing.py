"""Whose request it is that is paced, and how it stands among others."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from gateway.admission.verdict import Patience


@dataclass(frozen=True, slots=True)
class Standing:
    """Whose run it is and how it stands among others.

    ``run`` is unique, ``use`` the technique, ``came`` a time of ``anyio.current_time``.
    """

    run: str
    use: str
    tenant: str
    priority: int
    weight: float
    came: float
    patience: Patience

    def waited_s(self) -> float:
        """Return how long ago the request came, in seconds."""
        return anyio.current_time() - self.came
