"""Where Google's days end: at midnight in California, summer time or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_DAY_S = 86_400
_HOUR_S = 3600


def until_midnight(now: float) -> float:
    """Return the seconds from *now* (since the epoch) until the next midnight in California."""
    local = now - _west_of_greenwich(now)
    midnight = (local // _DAY_S + 1) * _DAY_S
    # The clock may change between now and then, by an hour; at midnight itself it never does.
    change = _west_of_greenwich(midnight + _west_of_greenwich(now))
    return midnight + change - now


def _west_of_greenwich(when: float) -> int:
    """Return the seconds by which local time is behind, by the rule in force since 2007."""
    year = datetime.fromtimestamp(when, UTC).year
    begins = _sunday(year, 3, 2).timestamp() + 10 * _HOUR_S  # 2:00 of winter time
    ends = _sunday(year, 11, 1).timestamp() + 9 * _HOUR_S  # 2:00 of summer time
    return (7 if begins <= when < ends else 8) * _HOUR_S


def _sunday(year: int, month: int, number: int) -> datetime:
    first = datetime(year, month, 1, tzinfo=UTC)
    return first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (number - 1))
