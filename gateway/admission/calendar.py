"""Calendar periods in a time zone: when the one that holds an instant starts and ends.

A period begins when its first day does, by the clocks of its zone: a day on which they are put
forward is shorter, one on which they are put back longer. Where midnight is skipped, the day
begins with the first instant after it; where midnight comes twice, with the first of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from gateway.config.periods import Period


@dataclass(frozen=True, slots=True)
class Span:
    """A period. ``start`` and ``end`` are instants in UTC, the end not of it; None: unbounded.

    ``name`` is its first day, and which sort it is: two sorts may begin on one day.
    """

    name: str
    start: datetime | None = None
    end: datetime | None = None


_ALL: Final = Span("total")


def span_of(period: Period, tz: str, now: datetime) -> Span:
    """Return the *period* that holds *now*, in the IANA time zone *tz*; weeks begin on Monday.

    Raises:
        ZoneInfoNotFoundError: There is no such zone.
    """
    if period == "total":
        return _ALL
    zone = ZoneInfo(tz)
    today = now.astimezone(zone).date()
    first = _first(period, today)
    following = _next(period, first)
    if now >= _begin(following, zone):  # clocks were put back over midnight: that day has begun
        first, following = following, _next(period, following)
    return Span(f"{first.isoformat()}/{period}", _begin(first, zone), _begin(following, zone))


def _first(period: Period, today: date) -> date:
    match period:
        case "week":
            return today - timedelta(days=today.weekday())
        case "month":
            return today.replace(day=1)
        case _:
            return today


def _next(period: Period, first: date) -> date:
    match period:
        case "week":
            return first + timedelta(days=7)
        case "month":
            return (first + timedelta(days=31)).replace(day=1)
        case _:
            return first + timedelta(days=1)


def _begin(day: date, zone: ZoneInfo) -> datetime:
    """Return the first instant of *day* in *zone*."""
    midnight = datetime.combine(day, time(), zone)
    early, late = (midnight.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    if early <= late:  # it comes once, or twice
        return early
    return _change(late, early, zone)


def _change(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """Return when the clocks of *zone* are put forward between *low* and *high*, to the second."""
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + timedelta(seconds=(high - low) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high
