"""When something was observed, as who learns of it counts."""

from __future__ import annotations

from collections.abc import Sequence

from router_service.contract import Observation


def none_to_come(rows: Sequence[Observation], now: float) -> Sequence[Observation]:
    """Return *rows*, those of a time that is yet to come as ones of *now*.

    Beside one of those all others would be too old to count.
    """
    return [row if row.at <= now else row.model_copy(update={"at": now}) for row in rows]
