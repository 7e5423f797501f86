"""Stub."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gateway.stores.ledger import WindowSpec


@dataclass(frozen=True, slots=True)
class Budget:
    """Stub."""

    name: str
    cap: int

    def window_name(self, now: datetime) -> str:
        """Stub."""
        return f"{self.name}:usd:{now:%Y-%m-%d}"

    def window(self, now: datetime, spent: int) -> WindowSpec:
        """Stub."""
        return WindowSpec(self.window_name(now), "never", self.cap, used=spent)
