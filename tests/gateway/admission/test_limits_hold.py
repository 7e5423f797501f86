"""Properties of the readers: they never raise, and what they tell can be worked with."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.admission.limits import VENDORS, delay_in, read, retry_after, vendor_of
from gateway.admission.reading import Told

NOW = 1893456000.0
AUTO = vendor_of(None, "", "openai_chat")
VENDOR_ROWS = [*VENDORS.values(), AUTO]
ALPHABET = "0123456789.-+:;=,\"' TZsmhdGMTJanFri/eEnNiIfF_\t\x00éß²\u0661"
VALUES = st.one_of(
    st.text(max_size=30),
    st.text(ALPHABET, max_size=30),
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(str),
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.from_regex(r"(\d+d)?(\d+h)?(\d+m)?(\d+(\.\d+)?s)?(\d+ms)?", fullmatch=True),
)


def check(told: Told) -> None:
    keys = [(row.dimension, row.period_s, row.scope) for row in told.readings]
    assert len(set(keys)) == len(keys)
    for row in told.readings:
        assert row.reset_s is None or 0 <= row.reset_s < 1e8
        assert row.remaining is None or 0 <= row.remaining < 1e16
        assert row.limit is None or row.limit >= (row.remaining or 0)
        assert row.period_s is None or row.period_s > 0
    assert told.retry_after_s is None or 0 <= told.retry_after_s < 1e8


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_a_47_no_headers_make_a_reader_raise(data: st.DataObject) -> None:
    vendor = data.draw(st.sampled_from(VENDOR_ROWS))
    names = [*sorted(vendor.names), "retry-after", "retry-after-ms", "date"]
    headers = data.draw(st.dictionaries(st.sampled_from(names), VALUES))
    status = data.draw(st.sampled_from([200, 400, 429, 503, 529]))

    check(read(vendor, headers, status=status, now=NOW, body=data.draw(st.binary(max_size=60))))


def test_a_47_ten_thousand_random_strings_make_no_reader_raise() -> None:
    dice = random.Random(47)
    for number in range(10_000):
        text = "".join(dice.choices(ALPHABET, k=dice.randrange(40)))
        vendor = VENDOR_ROWS[number % len(VENDOR_ROWS)]
        headers = dict.fromkeys((*vendor.names, "retry-after", "date"), text)
        check(read(vendor, headers, status=429, now=NOW, body=text.encode()))


PIECES = [
    *("on tokens", "on requests", "output tokens", "per min", "per hour", "per day", "PerDay"),
    *("rate limit", "limit of 1,0", "of ,", "Limit 5", "Used 7", "limit: 0", "retry after 5s"),
    *(
        '"type":"tokens"',
        "QuotaFailure",
        '"metadata"',
        '"headers"',
        "concurrent",
        "1.5.5s",
        "{",
        "}",
    ),
]


@given(parts=st.lists(st.sampled_from(PIECES) | st.text(max_size=9), max_size=12))
@settings(max_examples=200, deadline=None)
def test_a_47_no_words_make_a_reader_raise(parts: list[str]) -> None:
    body = " ".join(parts).encode()

    check(read(AUTO, {}, status=429, now=NOW, body=body))
    assert (delay_in(" ".join(parts)) or 0) >= 0


OTHERS = st.text(max_size=9).filter(lambda name: name not in AUTO.names)


@given(headers=st.dictionaries(OTHERS, VALUES, max_size=4), now=st.floats(0, 4e9))
@settings(deadline=None, max_examples=30)
def test_headers_that_are_nobodys_tell_nothing(headers: dict[str, str], now: float) -> None:
    assert read(AUTO, headers, status=200, now=now) == Told()
    assert retry_after({}, now) is None


@given(reset=st.floats(0, 9e6), later=st.floats(0, 1e5))
@settings(deadline=None)
def test_a_43_a_moment_is_the_nearer_the_later_it_is_read(reset: float, later: float) -> None:
    headers = {"x-ratelimit-remaining": "1", "x-ratelimit-reset": f"{int(NOW + reset)}000"}
    first, second = (
        read(AUTO, headers, status=200, now=now).readings[0].reset_s or 0.0
        for now in (NOW, NOW + later)
    )

    assert second == pytest.approx(max(0.0, first - later), abs=1e-3)
