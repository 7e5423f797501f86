from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.admission.calendar import span_of
from gateway.config.periods import PERIODS, Period

ODD = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",  # midnight did not exist on the day the clocks went forward
    "America/Havana",  # ... and came twice on the day they went back
    "America/St_Johns",  # clocks changed a minute after midnight until 2011
    "Asia/Kathmandu",
    "Asia/Beirut",
    "Africa/Cairo",
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Apia",  # left out a whole day
]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "case",  # the period, its zone, now, the first day, start and end
    [
        "day UTC 2026-03-01T00:00 2026-03-01 2026-03-01T00:00 2026-03-02T00:00",
        "day Asia/Tokyo 2026-02-28T15:00 2026-03-01 2026-02-28T15:00 2026-03-01T15:00",
        "week UTC 2026-11-29T23:59 2026-11-23 2026-11-23T00:00 2026-11-30T00:00",
        "week UTC 2026-11-30T00:00 2026-11-30 2026-11-30T00:00 2026-12-07T00:00",
        "month UTC 2026-12-31T23:59 2026-12-01 2026-12-01T00:00 2027-01-01T00:00",
        "month UTC 2028-02-29T12:00 2028-02-01 2028-02-01T00:00 2028-03-01T00:00",
        # 23 and 25 hours
        "day Europe/Berlin 2026-03-29T12:00 2026-03-29 2026-03-28T23:00 2026-03-29T22:00",
        "day Europe/Berlin 2026-10-25T12:00 2026-10-25 2026-10-24T22:00 2026-10-25T23:00",
        "month Europe/Berlin 2026-10-15T12:00 2026-10-01 2026-09-30T22:00 2026-10-31T23:00",
        # midnight does not exist: the day begins with the first instant after it
        "day America/Sao_Paulo 2018-11-04T12:00 2018-11-04 2018-11-04T03:00 2018-11-05T02:00",
        "day America/Havana 2025-03-09T12:00 2025-03-09 2025-03-09T05:00 2025-03-10T04:00",
        "day Asia/Beirut 2025-03-30T12:00 2025-03-30 2025-03-29T22:00 2025-03-30T21:00",
        # midnight comes twice: with the first
        "day America/Havana 2025-11-02T12:00 2025-11-02 2025-11-02T04:00 2025-11-03T05:00",
        # a day is left out, and its week is shorter
        "day Pacific/Apia 2011-12-30T09:59 2011-12-29 2011-12-29T10:00 2011-12-30T10:00",
        "day Pacific/Apia 2011-12-30T10:00 2011-12-31 2011-12-30T10:00 2011-12-31T10:00",
        # a minute after midnight the clocks went back over it: that day had begun
        "day America/St_Johns 2010-11-07T03:00 2010-11-07 2010-11-07T02:30 2010-11-08T03:30",
    ],
)
def test_a_period_is_that_of_the_calendar_in_its_zone(case: str) -> None:
    sort, tz, now, first, start, end = case.split()
    (period,) = (known for known in PERIODS if known == sort)

    span = span_of(period, tz, at(now))

    assert (span.name, span.start, span.end) == (f"{first}/{period}", at(start), at(end))


def test_all_time_has_no_bounds() -> None:
    span = span_of("total", "Europe/Berlin", at("2026-01-01"))

    assert (span.name, span.start, span.end) == ("total", None, None)


INSTANTS = st.datetimes(datetime(2005, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(INSTANTS, st.sampled_from(ODD), st.sampled_from(PERIODS[:3]))
def test_periods_follow_each_other_without_a_gap(now: datetime, tz: str, period: Period) -> None:
    span = span_of(period, tz, now)
    assert span.start is not None
    assert span.end is not None

    assert span.start <= now < span.end
    assert span_of(period, tz, span.start) == span
    following = span_of(period, tz, span.end)
    assert following.start == span.end
    assert following.name > span.name
    assert span_of(period, tz, span.end - timedelta(microseconds=1)) == span
    first = span.start.astimezone(ZoneInfo(tz)).date().isoformat()
    assert span.name == f"{first}/{period}"


def test_two_sorts_of_period_that_begin_on_one_day_have_names_of_their_own() -> None:
    names = {span_of(period, "UTC", at("2026-06-01")).name for period in PERIODS}

    assert len(names) == len(PERIODS)
