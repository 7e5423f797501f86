"""Acceptance cases of rate limits that a reader of headers can get wrong: RL-01, RL-03, RL-04."""

from __future__ import annotations

import pytest

from gateway.admission.limits import read, vendor_of

NOW = 1893456000.0  # 2030-01-01T00:00:00Z
AUTO = vendor_of(None, "http://127.0.0.1:1", "openai_chat")


@pytest.mark.parametrize(
    ("reset", "pause_s"),
    [
        ("1s", 1),
        ("12ms", 0.012),
        ("7.66s", 7.66),
        ("2m59.56s", 179.56),
        ("6m0s", 360),
        ("1h30m", 5400),
        ("30", 30),
        ("2030-01-01T00:00:05Z", 5),
        ("2030-01-01T01:00:05+01:00", 5),
        ("1893456005", 5),
        ("1893456005000", 5),
        ("0", 0),
        ("-3", 0),
        ("", None),
        ("soon", None),
    ],
)
def test_rl_01_a_reset_is_read_whatever_its_form(reset: str, pause_s: float | None) -> None:
    headers = {"x-ratelimit-limit-requests": "10", "x-ratelimit-remaining-requests": "0"}
    told = read(AUTO, headers | {"x-ratelimit-reset-requests": reset}, status=200, now=NOW)

    assert len(told.readings) == 1
    assert told.readings[0].remaining == 0
    assert told.readings[0].reset_s == (pause_s if pause_s is None else pytest.approx(pause_s))
    assert told.unparsed == (("x-ratelimit-reset-requests",) if pause_s is None else ())


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [("42", 42), ("1893456042", 42), ("1893456042000", 42), ("1700000000", 0)],
)
def test_rl_03_a_bare_number_is_told_apart_by_its_size(value: str, wait_s: float) -> None:
    told = read(AUTO, {"x-ratelimit-reset": value}, status=429, now=NOW)

    assert (told.retry_after_s or 0) == wait_s


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("Tue, 01 Jan 2030 00:00:03 GMT", 3),
        ("Mon, 31 Dec 2029 23:59:00 GMT", 0),
    ],
)
def test_rl_04_retry_after_may_be_a_date(value: str, wait_s: float) -> None:
    assert read(AUTO, {"retry-after": value}, status=429, now=NOW).retry_after_s == wait_s
