"""The calendar periods that a budget may have."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

Period: TypeAlias = Literal["day", "week", "month", "total"]
PERIODS: Final[tuple[Period, ...]] = ("day", "week", "month", "total")
